/** Reads how a run stands from its checkpoint, once or again and again, in the process that works or in another one. */
import { performance } from 'node:perf_hooks';
import type { Answered, CheckpointReader, Tally } from '../checkpoint/checkpoint.js';
import type { OnProgress, ProgressSnapshot, Wait } from '../progress/events.js';
import { createRate, recordsAnswered, takeSnapshot } from '../progress/snapshot.js';
import { recordsToSend } from '../report/origins.js';
import type { Clock } from '../streams/clock.js';
import type { Milliseconds } from '../types.js';
import type { Closeable } from './open/open-state.js';

type Reasons = ProgressSnapshot['failed']['reasons'];

/** What a snapshot of a run is read from. */
export interface ProgressSources {
  readonly checkpoint: Pick<CheckpointReader, 'run' | 'tally' | 'answered' | 'chunksIn' | 'failureReasons'>;
  readonly clock: Pick<Clock, 'now'>;
  /** What only the process that works knows. Left out elsewhere. */
  readonly percentages?: ReadonlyMap<number, number>;
  readonly waits?: { list(): readonly Wait[] };
  readonly admitted?: () => number | null;
}

/**
 * @param id the run's.
 * @returns reads a snapshot; undefined if there is no such run. The rate counts from the first one on.
 */
export function createProgressReader(
  id: string,
  sources: ProgressSources,
): () => Promise<ProgressSnapshot | undefined> {
  const { checkpoint, clock, percentages = new Map(), waits, admitted } = sources;
  const rate = createRate();
  const reasonsOf = createSlowReader(
    ({ merged }) => merged.records,
    () => checkpoint.failureReasons(id),
    [] as Reasons,
  );
  const answeredOf = createSlowReader(recordsAnswered, () => checkpoint.answered(id), NOTHING);
  return async () => {
    const run = await checkpoint.run(id);
    if (run === undefined) return undefined;
    const tally = await checkpoint.tally(id);
    const open = await checkpoint.chunksIn(id, ['submitted'], 0, openRead);
    return takeSnapshot({
      run,
      tally,
      ended: await answeredOf(tally),
      toSend: recordsToSend(run),
      open,
      percentages,
      admitted: admitted?.() ?? null,
      reasons: await reasonsOf(tally),
      waits: waits?.list() ?? [],
      rate: rate(recordsAnswered(tally), performance.now()),
      now: clock.now(),
    });
  };
}

const NOTHING: Answered = { records: 0, failed: 0 };

/**
 * Reads something that takes time, when it may have changed, and seldom enough that it takes two percent of the time at
 * most.
 * @param changes a figure that changes with it; while it is 0 there is nothing to read.
 */
function createSlowReader<T>(
  changes: (tally: Tally) => number,
  slowly: () => Promise<T>,
  nothing: T,
): (tally: Tally) => Promise<T> {
  let read = { at: 0, value: nothing, until: 0 };
  return async (tally) => {
    const begin = performance.now();
    const at = changes(tally);
    if (at === read.at || begin < read.until) return read.value;
    const value = await slowly();
    const end = performance.now();
    read = { at, value, until: end + 50 * (end - begin) };
    return value;
  };
}

/** The oldest open folios have the lowest numbers, but for chunks that are sent again. */
const openRead = 50;

/** Reports snapshots of a run to a listener until it is closed, and a last one then. */
export function watchRun(id: string, sources: ProgressSources, tell: OnProgress): Closeable {
  const read = createProgressReader(id, sources);
  let pending = Promise.resolve();
  const next = () => {
    if (tell.isHeard?.() === false) return;
    pending = pending.then(async () => {
      // A read that fails only leaves out a snapshot: the run gets the same error and reports it.
      const snapshot = await read().catch(() => undefined);
      if (snapshot !== undefined) tell({ type: 'progress', ...snapshot });
    });
  };
  let timer: NodeJS.Timeout;
  const wait = () => {
    timer = setTimeout(() => {
      next();
      void pending.then(() => {
        if (!isClosed) wait();
      });
    }, READ_EVERY).unref();
  };
  let isClosed = false;
  next();
  wait();
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      next();
      await pending;
    },
  };
}

const READ_EVERY: Milliseconds = 500;
