/**
 * Third stage: polls every open folio until it is finished and its parts are listed. Passes chunks on in the order in
 * which their folios finish. A lost folio is given up; a folio that exceeds `poll.timeout` is left for the next run.
 */
import type { FolioReport } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { countOf } from '../../quantities.js';
import { abandonCommand } from '../../report/adoptable.js';
import type { RunContext } from '../../run-context.js';
import { abortOnEarlyReturn } from '../../streams/abortable.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import { permitName } from '../../streams/permits.js';
import { withAnySignal } from '../../streams/time-limit.js';
import { isComplete, listParts } from '../download/folio-parts.js';
import { deferTrouble } from '../download/give-up-hint.js';
import { checkSameService, noteNewerRow } from '../submit/check-replies.js';
import { afterFolioError } from './lost-folios.js';
import {
  createPollState,
  FolioSchedule,
  type PollLimits,
  type PollState,
  sweepTime,
} from './poll-schedule.js';

type TrackFoliosNeeds = Pick<
  RunContext,
  | 'id'
  | 'config'
  | 'api'
  | 'folioPermits'
  | 'controller'
  | 'deferred'
  | 'signal'
  | 'progress'
  | 'clock'
  | 'logger'
  | 'at'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'recordFinished' | 'recordUnprocessed' | 'recordUnmerged' | 'attempts' | 'recordMixed'
  >;
  /** Whether the caller then gives up the run, with the folios that are still open. */
  readonly isGivenUpAfter?: boolean;
};

/**
 * Polls folios until they are finished.
 * @param until once aborted, a folio is polled once more and left unchanged if it is still processing or not known. A
 *   signal that is aborted from the start asks for each folio exactly once.
 */
export function trackFolios(
  run: TrackFoliosNeeds,
  until?: AbortSignal,
): (chunks: AsyncIterable<ChunkRow>) => AsyncGenerator<ChunkRow> {
  const state = createPollState();

  const awaitFolio = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    state.open += 1;
    try {
      const report = await pollUntilComplete(run, chunk, state, until).finally(() => {
        state.open -= 1;
      });
      return report && (await finish(run, chunk, report));
    } catch (error) {
      return afterFolioError(run, chunk, error, until);
    } finally {
      // Deleted only after the folio is recorded as finished: until then it is shown as open.
      run.progress.percentages.delete(chunk.number);
    }
  };

  const track = async (chunk: ChunkRow): Promise<ChunkRow | undefined> => {
    if (chunk.state !== 'submitted') return chunk;
    const ended = await awaitFolio(chunk);
    if (ended !== undefined) await run.folioPermits.release(permitName(run.id, chunk.number));
    return ended;
  };

  const { folios } = run.config.concurrency;
  // folios + 1, so that the end of the input is read while all folios are open.
  return (chunks) =>
    abortOnEarlyReturn(mapConcurrent(chunks, folios + 1, track, run.controller), run.controller);
}

async function finish(run: TrackFoliosNeeds, chunk: ChunkRow, report: FolioReport): Promise<ChunkRow> {
  run.at('after-finished-reply-before-commit');
  const counts = report.counts!;
  const parts = listParts(chunk, report);
  const finished = await run.checkpoint.recordFinished(run.id, chunk.number, counts, parts, run.clock.now());
  noteNewerRow(chunk, finished);
  run.logger.debug(
    { chunk: chunk.number, folio: chunk.folio, ...counts },
    `chunk ${chunk.number} finished: ${counts.successful} successful, ${counts.failed} failed`,
  );
  run.at('after-finished-before-download');
  return finished;
}

/**
 * @returns undefined when the folio is left unchanged: after `until`, after `poll.timeout`, or after an outage.
 * @throws FolioLostError when the service no longer knows the folio.
 */
async function pollUntilComplete(
  run: TrackFoliosNeeds,
  chunk: ChunkRow,
  state: PollState,
  until: AbortSignal | undefined,
): Promise<FolioReport | undefined> {
  const { poll, service } = run.config;
  const pollCost = 1000 / service.requestsPerSecond;
  const began = run.clock.now();
  const schedule = new FolioSchedule(chunk, state, began);
  for (;;) {
    const from = run.clock.now();
    const passed = schedule.passed(from);
    const timeLeft = Math.max(began + poll.timeout - from, 0);
    const left = () => Math.min(schedule.delay(limitsNow(run, state), pollCost) - passed, timeLeft);
    await sleepFor(run, left, state, until);
    const askedAt = run.clock.now();
    // The poll may first wait for the rate limit, for longer than the folio takes.
    let [sentAt, attempts] = [askedAt, 0];
    const begins = () => {
      sentAt = run.clock.now();
      attempts += 1;
    };
    const report = await pollOnce(run, chunk, { until, begins });
    if (report === undefined) return undefined;
    if (report.percentage !== null) run.progress.percentages.set(chunk.number, report.percentage);
    const now = run.clock.now();
    if (isComplete(report)) {
      // After failed attempts its time is unknown: the folio may have finished at any time during the outage.
      if (attempts <= 1) schedule.finished(sentAt, poll.first);
      return report;
    }
    if (schedule.polled(report.status, now)) logStatus(run, chunk, report);
    if (until?.aborted) return undefined;
    // If the machine slept while the reply was on its way, the folio is polled once more first.
    if (askedAt - began >= poll.timeout) {
      await leaveOpen(run, chunk, report);
      return undefined;
    }
    schedule.goesOn(report.percentage, now);
  }
}

/** The limits of the schedule, with the number of folios that are open now. */
function limitsNow(
  { config: { poll, service }, folioPermits }: TrackFoliosNeeds,
  state: PollState,
): PollLimits {
  const { open = 0, isAwaited = false } = folioPermits.shared?.() ?? {};
  const sweep = sweepTime(Math.max(state.open, open), service.requestsPerSecond);
  return { ...poll, sweep, isShared: isAwaited };
}

/** Leaves a folio after `poll.timeout`. It is still open at the service, so it keeps its permit. */
async function leaveOpen(run: TrackFoliosNeeds, chunk: ChunkRow, report: FolioReport): Promise<void> {
  await run.folioPermits.keep(permitName(run.id, chunk.number));
  run.logger.warn(
    { chunk: chunk.number, folio: chunk.folio },
    `folio ${chunk.folio} is still ${stateOf(report)} after poll.timeout; ${afterTimeout(run, chunk)}`,
  );
}

/** The status of a folio that is not complete. If it is FINISHED, says also what it lacks. */
function stateOf({ status, counts, listedRecords, successfulParts }: FolioReport): string {
  if (status !== 'FINISHED') return status;
  if (counts === null) return 'FINISHED without the counts of its records';
  const listed = successfulParts.length === 0 ? 0 : listedRecords;
  return `FINISHED with ${listed} of ${countOf(counts.successful, 'successful record')} in the parts that it lists`;
}

/**
 * Sleeps for a time that may change meanwhile, or until `until` is aborted. Counts the time that it slept, because the
 * clock may be set meanwhile.
 */
async function sleepFor(
  run: TrackFoliosNeeds,
  time: () => number,
  { known }: PollState,
  until: AbortSignal | undefined,
): Promise<void> {
  let slept = 0;
  for (let left = time(); left > 0 && !until?.aborted; left = time() - slept) {
    const enders = [until, known.signal].filter((signal) => signal !== undefined && !signal.aborted);
    const began = run.clock.now();
    const isWhole = await sleepUntil(run, left, enders as AbortSignal[]);
    slept += isWhole ? left : Math.max(run.clock.now() - began, 0);
  }
}

function afterTimeout({ id, isGivenUpAfter = false }: TrackFoliosNeeds, { number }: ChunkRow): string {
  return isGivenUpAfter
    ? 'it is not waited for any longer'
    : `it is left for the next run; to give it up: ${abandonCommand(id, number)}`;
}

/**
 * @returns undefined after an outage, and when the replies break the interface for good: the folio keeps its permit, the
 *   others go on, and the run ends with the error.
 */
async function pollOnce(
  run: TrackFoliosNeeds,
  chunk: ChunkRow,
  { until, begins }: { readonly until: AbortSignal | undefined; readonly begins: () => void },
): Promise<FolioReport | undefined> {
  try {
    const report = await run.api.track(chunk.folio!, run.signal, until, begins);
    await checkSameService(run.checkpoint, run.id, chunk, report.rehearsal);
    return report;
  } catch (error) {
    if (!deferTrouble(run, chunk, error)) throw error;
    await run.folioPermits.keep(permitName(run.id, chunk.number));
    return undefined;
  }
}

/** Sleeps for the delay, or until one of the signals is aborted. @returns whether it slept for the whole delay. */
async function sleepUntil(
  run: TrackFoliosNeeds,
  delay: number,
  enders: readonly AbortSignal[],
): Promise<boolean> {
  try {
    await withAnySignal([run.signal, ...enders], (signal) => run.clock.sleep(delay, signal));
    return true;
  } catch (error) {
    if (run.signal.aborted || enders.length === 0) throw error;
    return false;
  }
}

function logStatus(run: TrackFoliosNeeds, chunk: ChunkRow, report: FolioReport): void {
  const known = report.status === 'PROCESSING' || report.status === 'FINISHED';
  const fields = { chunk: chunk.number, folio: chunk.folio, status: report.status };
  if (known) run.logger.debug(fields, `folio ${chunk.folio} is ${report.status}`);
  else
    run.logger.warn(
      fields,
      `folio ${chunk.folio} has the unknown status ${report.status}; polling continues`,
    );
}
