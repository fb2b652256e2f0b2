/** The port to the service, modelled: time passes on the virtual clock, and nothing else is real. */
import { createServers } from './work.js';

/** What a folio shows of its progress, 0 to 100. */
const shown = {
  honest: (percentage) => percentage,
  whole: (percentage) => Math.floor(percentage),
  coarse: (percentage) => Math.floor(percentage / 10) * 10,
  stuck: () => 0,
  missing: () => null,
};

/**
 * @param model besides what `createWork` takes: `upload`, `download` and `reply` in ms, `openAtMost` and
 *   `retryAfter` (an upload too many is answered with 429), `throttledEach` (one request in this many ms is
 *   answered with 429), `percentage` (a key of `shown`), `records` of a chunk.
 */
export function createModelledService({ clock, limiter, work, model }) {
  const servers = createServers(work);
  const folios = [];
  const uploadWaits = [];
  let open = [];
  let arriving = 0;
  let requests = 0;
  let throttlesAt = model.throttledEach ?? Infinity;
  const content = partOf(model.records);

  const enter = async (signal, operation) => {
    for (;;) {
      await limiter.wait(signal, operation);
      requests += 1;
      if (clock.now() < throttlesAt) return;
      throttlesAt = clock.now() + model.throttledEach;
      await refuse(signal);
    }
  };
  const refuse = async (signal) => {
    await clock.sleep(model.reply, signal);
    limiter.pause(model.retryAfter);
  };
  const isFull = () => {
    if (model.openAtMost === undefined) return false;
    open = open.filter((folio) => folio.end > clock.now());
    return open.length + arriving >= model.openAtMost;
  };

  return {
    /** In the order in which they were accepted: when, when finished, how often asked, when noticed. */
    folios,
    /** How long each upload waited for its turn. */
    uploadWaits,
    requests: () => requests,
    upload: async ({ refused }, signal) => {
      const asked = clock.now();
      await enter(signal, 'upload');
      uploadWaits.push(clock.now() - asked);
      while (isFull()) {
        await refuse(signal);
        await refused();
        await enter(signal, 'upload');
      }
      arriving += 1;
      await clock.sleep(model.upload, signal);
      arriving -= 1;
      const folio = { acceptedAt: clock.now(), ...servers.accept(clock.now()), polls: 0, noticedAt: null };
      folios.push(folio);
      if (model.openAtMost !== undefined) open.push(folio);
      return { folio: String(folios.length - 1), totalRecords: model.records, rehearsal: false };
    },
    track: async (id, signal) => {
      await enter(signal, 'track');
      await clock.sleep(model.reply / 2, signal);
      const folio = folios[Number(id)];
      folio.polls += 1;
      const finished = clock.now() >= folio.end;
      const report = finished
        ? finishedReport(model.records)
        : workingReport(work, folio, clock.now(), model);
      await clock.sleep(model.reply / 2, signal);
      return report;
    },
    download: async (_, consume, signal) => {
      await enter(signal, 'download');
      await clock.sleep(model.download, signal);
      return consume(content(), { rehearsal: false });
    },
    search: async () => ({}),
    close: async () => undefined,
  };
}

function workingReport(work, { begin, needed }, now, { percentage, records }) {
  const done = now <= begin ? 0 : (work.doneBy(now) - work.doneBy(begin)) / needed;
  return { ...report('PROCESSING', records), percentage: shown[percentage](Math.min(100 * done, 99.99)) };
}

function finishedReport(records) {
  return {
    ...report('FINISHED', records),
    percentage: 100,
    counts: { successful: records, failed: 0 },
    successfulParts: [0],
    listedRecords: records,
  };
}

function report(status, records) {
  return {
    status,
    records,
    percentage: null,
    processed: null,
    counts: null,
    successfulParts: [],
    listedRecords: null,
    failedPart: 0,
    rehearsal: false,
  };
}

/** One result a record: the real stages count them. */
function partOf(records) {
  const bytes = Buffer.from(`n\n${'1\n'.repeat(records)}`);
  return async function* () {
    yield bytes;
  };
}
