/** Makes a snapshot of a run from what its checkpoint says. Pure: reads no clock and waits for nothing. */
import type { Answered, ChunkRow, Run, Tally } from '../checkpoint/checkpoint.js';
import type { OpenFolio, ProgressSnapshot, Wait } from './events.js';

/** What a snapshot is made from. */
export interface SnapshotFacts {
  readonly run: Run;
  readonly tally: Tally;
  readonly ended: Answered;
  /** Records to send: see `recordsToSend`. */
  readonly toSend: number;
  /** Chunks with an open folio, some of them. */
  readonly open: readonly ChunkRow[];
  /** The percentage that the service has told last, by chunk. */
  readonly percentages: ReadonlyMap<number, number>;
  /** How many folios the service lets be open, if it has refused more than that; else null. */
  readonly admitted: number | null;
  readonly reasons: ProgressSnapshot['failed']['reasons'];
  readonly waits: readonly Wait[];
  /** Records a second. */
  readonly rate: number | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

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
export function recordsAnswered({ records }: Pick<Tally, 'records'>): number {
  return records.downloaded + records.unprocessed + records.refused;
}

function sumOf(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

/** Records a second, as an average since the first call; null until a record is answered. Never negative. */
export type Rate = (records: number, at: number) => number | null;

/** Measures from the first call on, so that the work of an earlier process does not count. Times in milliseconds. */
export function createRate(): Rate {
  let first: { records: number; at: number } | undefined;
  return (records, at) => {
    // Fewer are answered when a lost folio is found again.
    if (first === undefined || records < first.records) first = { records, at };
    const seconds = (at - first.at) / 1000;
    return seconds < 1 || records === first.records ? null : (records - first.records) / seconds;
  };
}
