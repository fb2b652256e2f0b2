/**
 * Third stage: polls every open folio until the service is done with it and lists its parts. Folios leave in
 * the order in which they finish; one that is lost is given up, one that takes too long is left for later.
 */
import type { FolioReport } from '../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { FolioLostError, OutageError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';
import { abortWhenLeft } from '../streams/abort-when-left.js';
import { mapConcurrent } from '../streams/map-concurrent.js';
import { isComplete, listParts } from './folio-completion.js';
import { giveUpLost } from './give-up-lost.js';
import { pollDelay } from './poll-schedule.js';

export type TrackFoliosNeeds = Pick<
  RunContext,
  'id' | 'config' | 'api' | 'folioPermits' | 'controller' | 'setbacks' | 'signal' | 'clock' | 'logger' | 'at'
> & {
  readonly checkpoint: Pick<Checkpoint, 'chunk' | 'recordFinished' | 'recordUnprocessed'>;
};

/**
 * @param until once aborted, a folio that is still processing after its next poll is left alone; an aborted
 *   one asks each folio exactly once.
 */
export function trackFolios(
  run: TrackFoliosNeeds,
  until?: AbortSignal,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const pace = { expected: null as number | null };

  const track = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    if (chunk.state !== 'submitted') return chunk;
    const report = await pollUntilComplete(run, chunk, pace.expected, until);
    if (report === undefined) return undefined;
    if (report !== 'lost') {
      run.at('after-finished-reply-before-commit');
      await run.checkpoint.recordFinished(run.id, chunk.number, report.counts!, listParts(report));
      pace.expected = run.clock.now() - chunk.submittedAt!;
      run.logger.debug(
        { chunk: chunk.number, folio: chunk.folio, ...report.counts },
        `chunk ${chunk.number} finished: ${report.counts!.successful} successful, ${report.counts!.failed} failed`,
      );
      run.at('after-finished-before-download');
    }
    run.folioPermits.release(chunk.number);
    return run.checkpoint.chunk(run.id, chunk.number);
  };

  const { folios } = run.config.concurrency;
  return (chunks) => abortWhenLeft(mapConcurrent(chunks, folios, track, run.controller), run.controller);
}

async function pollUntilComplete(
  run: TrackFoliosNeeds,
  chunk: ChunkRow,
  expected: number | null,
  until: AbortSignal | undefined,
): Promise<FolioReport | 'lost' | undefined> {
  const { poll } = run.config;
  const folio = chunk.folio!;
  const began = run.clock.now();
  let status = '';
  for (let polls = 1; ; polls++) {
    const report = await trackOnce(run, chunk, folio);
    if (report === undefined || report === 'lost' || isComplete(report)) return report;
    if (report.status !== status) {
      logStatus(run, chunk, report);
      status = report.status;
      // A finished folio whose parts are not listed yet is asked for often again, however long it took.
      polls = 1;
    }
    if (until?.aborted) return undefined;
    const now = run.clock.now();
    if (now - began >= poll.timeout) {
      // It is still open at the service, where never more than `folios` may be.
      run.folioPermits.keep(chunk.number);
      run.logger.warn(
        { chunk: chunk.number, folio },
        `folio ${folio} is still ${report.status} after poll.timeout; it is left for the next run`,
      );
      return undefined;
    }
    const elapsed = now - chunk.submittedAt!;
    const delay = pollDelay({ elapsed, polls, percentage: report.percentage, expected }, poll);
    await sleepUntil(run, Math.min(delay, began + poll.timeout - now), until);
  }
}

async function trackOnce(
  run: TrackFoliosNeeds,
  chunk: ChunkRow,
  folio: string,
): Promise<FolioReport | 'lost' | undefined> {
  try {
    return await run.api.track(folio, run.signal);
  } catch (error) {
    if (error instanceof OutageError) {
      run.setbacks.first ??= error;
      run.folioPermits.keep(chunk.number);
      return undefined;
    }
    if (!(error instanceof FolioLostError)) throw error;
    await giveUpLost(run, chunk, error);
    return 'lost';
  }
}

/** Sleeps, but no longer than until `until` is aborted. */
async function sleepUntil(
  run: TrackFoliosNeeds,
  delay: number,
  until: AbortSignal | undefined,
): Promise<void> {
  if (until === undefined) return run.clock.sleep(delay, run.signal);
  await run.clock.sleep(delay, AbortSignal.any([run.signal, until])).catch((error: unknown) => {
    if (run.signal.aborted) throw error;
  });
}

function logStatus(run: TrackFoliosNeeds, chunk: ChunkRow, report: FolioReport): void {
  const known = report.status === 'PROCESSING' || report.status === 'FINISHED';
  const fields = { chunk: chunk.number, folio: chunk.folio, status: report.status };
  if (known) run.logger.debug(fields, `folio ${chunk.folio} is ${report.status}`);
  else run.logger.warn(fields, `folio ${chunk.folio} has the unknown status ${report.status}; waiting on`);
}
