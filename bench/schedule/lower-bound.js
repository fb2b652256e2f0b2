/**
 * The shortest makespan that any client could have under the same limits.
 *
 * A client does not see what a folio needs before it is finished, and the service takes folios in the order in
 * which they arrive; so all that a client decides is when each upload begins. Every time below is a maximum or
 * an order statistic of earlier times plus a constant, or the end of work that was begun at a time; each of
 * these never gets earlier when one of its inputs gets later. So a client that begins every upload at the first
 * moment that the limits allow, and sees each FINISHED in the same instant, is later than no other at any event:
 *
 *   upload n begins    when a permit (`folios`, or the service's own cap where that is lower) and one of the
 *                      `uploads` are free
 *   folio n is begun   when it is uploaded and one of the service's servers is free
 *   its permit is free the instant that it is finished, its download begins when one of `downloads` is free
 *
 * That client also keeps every simpler bound: all work over all servers, all slots' time over all permits, the
 * longest chain of upload, processing and download. Requests are bounded by themselves: each folio costs an
 * upload, one poll and a download, and the last of them still has its reply to come.
 */
import { createHeap } from './virtual-clock.js';
import { createServers } from './work.js';

/** @returns milliseconds, and which of the two bounds it is. */
export function lowerBound({ chunks, model, work, concurrency, requestsPerSecond }) {
  const byTime = perfectClient({ chunks, model, work, concurrency });
  const byRequests = ((3 * chunks - 1) * 1000) / requestsPerSecond + model.download;
  return byTime >= byRequests ? { time: byTime, of: 'time' } : { time: byRequests, of: 'requests' };
}

function perfectClient({ chunks, model, work, concurrency }) {
  const servers = createServers(work);
  const permits = createSlots(Math.min(concurrency.folios, model.openAtMost ?? Infinity));
  const uploads = createSlots(concurrency.uploads);
  const ends = [];
  for (let n = 0; n < chunks; n++) {
    const accepted = Math.max(permits.take(), uploads.take()) + model.upload;
    const { end } = servers.accept(accepted);
    uploads.giveBack(accepted);
    permits.giveBack(end);
    ends.push(end);
  }
  const downloads = createSlots(concurrency.downloads);
  let last = 0;
  for (const end of ends.sort((a, b) => a - b)) {
    last = Math.max(downloads.take(), end) + model.download;
    downloads.giveBack(last);
  }
  return last;
}

/** Places of which each is free from a time on; the earliest is taken. */
function createSlots(count) {
  const freeAt = createHeap((a, b) => a - b);
  let unused = count;
  return {
    take: () => (unused-- > 0 ? 0 : freeAt.pop()),
    giveBack: (time) => freeAt.push(time),
  };
}
