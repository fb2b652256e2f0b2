/** Reads how a run stands from its checkpoint, once or again and again, in the process that works or in another one. */
import type { Answered, CheckpointReader, ChunkRow, Run, Tally } from '../checkpoint/checkpoint.js';
import type { OnProgress, OpenFolio, ProgressSnapshot, Wait } from '../progress/events.js';
import { recordsToSend } from '../report/origins.js';
import type { Clock } from '../streams/clock.js';
import type { Milliseconds } from '../types.js';
import type { Closeable } from './open/releasers.js';

type Reasons = ProgressSnapshot['failed']['reasons'];

/** What a snapshot of a run is read from. */
export interface ProgressSources {
  readonly checkpoint: Pick<CheckpointReader, 'run' | 'tally' | 'answered' | 'chunksIn' | 'failureReasons'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Known only to the process that works on the run. Left out elsewhere. */
  readonly percentages?: ReadonlyMap<number, number>;
  readonly waits?: { list(): readonly Wait[] };
  readonly admitted?: () => number | null;
}

/**
 * @param id of the run.
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
 * Reads a value that takes time to read: only when it may have changed, and for at most half a percent of the time. A run
 * mostly waits, so that is a larger share of its work.
 * @param changes a figure that changes with the value; while it is 0 there is nothing to read.
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
    read = { at, value, until: end + 200 * (end - begin) };
    return value;
  };
}

/** Enough to find the oldest open folios: they have the lowest numbers, except for chunks that are sent again. */
const openRead = 50;

/** Reports snapshots of a run to a listener until it is closed, and a last one then. */
export function watchRun(id: string, sources: ProgressSources, onProgress: OnProgress): Closeable {
  const read = createProgressReader(id, sources);
  let pending = Promise.resolve();
  const next = () => {
    if (onProgress.isHeard?.() === false) return;
    pending = pending.then(async () => {
      // A read that fails only leaves out a snapshot: the run gets the same error and reports it.
      const snapshot = await read().catch(() => undefined);
      if (snapshot !== undefined) onProgress({ type: 'progress', ...snapshot });
    });
  };
  let timer: NodeJS.Timeout;
  const wait = (took: Milliseconds) => {
    timer = setTimeout(
      () => {
        const begin = performance.now();
        next();
        void pending.then(() => {
          if (!isClosed) wait(performance.now() - begin);
        });
      },
      Math.min(Math.max(READ_EVERY, REST * took), MOST_REST),
    ).unref();
  };
  let isClosed = false;
  next();
  wait(0);
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

/** How many times as long as a reading took the next one waits: a tally of 100,000 chunks takes 0.1 s. */
const REST = 20;
/** One reading may take long for another reason, such as a disk that hangs. */
const MOST_REST: Milliseconds = 30_000;

/** What a snapshot is made from. */
interface SnapshotFacts {
  readonly run: Run;
  readonly tally: Tally;
  readonly ended: Answered;
  /** Records to send: see `recordsToSend`. */
  readonly toSend: number;
  /** Chunks with an open folio, some of them. */
  readonly open: readonly ChunkRow[];
  /** The last percentage that the service reported, by chunk. */
  readonly percentages: ReadonlyMap<number, number>;
  /** How many open folios the service allows, if it has refused more; else null. */
  readonly admitted: number | null;
  readonly reasons: ProgressSnapshot['failed']['reasons'];
  readonly waits: readonly Wait[];
  /** Records a second. */
  readonly rate: number | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** A snapshot of a run from what its checkpoint says. Pure: reads no clock and waits for nothing. */
export function takeSnapshot(facts: SnapshotFacts): ProgressSnapshot {
  const { run, tally, toSend, rate, now } = facts;
  const { records: byState, chunks, merged } = tally;
  const cut = sumOf(byState) - byState.split;
  // When failed records are sent again, more records are cut than are sent first.
  const sentAgain = Math.max(cut - toSend, 0);
  const answered = recordsAnswered(tally);
  const left = toSend + sentAgain - answered;
  const folios = [...facts.open].sort((a, b) => a.submittedAt! - b.submittedAt!).slice(0, mostShown);
  return {
    run: run.id,
    pipeline: run.pipeline,
    state: run.state,
    at: now,
    createdAt: run.createdAt,
    rehearsal: run.rehearsal,
    records: run.source.records - run.source.rejected,
    toSend,
    sentAgain,
    answered,
    chunks: run.chunks,
    byState: chunks,
    recordsByState: byState,
    merged,
    failed: {
      records: facts.ended.failed,
      of: facts.ended.records,
      reasons: facts.reasons.slice(0, mostShown),
    },
    folios: {
      open: chunks.submitted,
      admitted: facts.admitted,
      oldest: folios.map((chunk) => openFolio(chunk, facts.percentages, now)),
    },
    rate,
    etaMs: rate === null || rate <= 0 ? null : (1000 * Math.max(left, 0)) / rate,
    waits: facts.waits,
  };
}

const mostShown = 5;

function openFolio(
  { number, folio, records, submittedAt }: ChunkRow,
  percentages: ReadonlyMap<number, number>,
  now: number,
): OpenFolio {
  return {
    chunk: number,
    folio: folio!,
    records,
    ageMs: Math.max(now - submittedAt!, 0),
    percentage: percentages.get(number) ?? null,
  };
}

/** Records of chunks that need no more answer. */
function recordsAnswered({ records }: Pick<Tally, 'records'>): number {
  return records.downloaded + records.unprocessed + records.refused;
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/**
 * Measures records a second, as an average from the first call on: the work of an earlier process does not count.
 * @returns takes the records so far and the time in milliseconds; gives null until a record is answered, never a negative
 *   rate.
 */
export function createRate(): (records: number, at: number) => number | null {
  let first: { records: number; at: number } | undefined;
  return (records, at) => {
    // Fewer are answered when a lost folio is found again.
    if (first === undefined || records < first.records) first = { records, at };
    const seconds = (at - first.at) / 1000;
    return seconds < 1 || records === first.records ? null : (records - first.records) / seconds;
  };
}
