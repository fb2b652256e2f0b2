/** The night's timeline: how long each chunk was in each phase, and the same for any number of chunks, in bins. */
import type { ChunkTimes } from '../checkpoint/checkpoint.js';

/** In the order in which a chunk passes them. `merging` includes the wait for the chunks before it. */
export const phases = ['waiting', 'uploading', 'processing', 'downloading', 'merging'] as const;
type Phase = (typeof phases)[number];

interface Interval {
  readonly phase: Phase;
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
}

/** A span of time, cut into bins of the same length. */
export interface Bins {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

type Times = Pick<
  ChunkTimes,
  'state' | 'round' | 'cutAt' | 'uploadAt' | 'submittedAt' | 'finishedAt' | 'downloadedAt' | 'mergedAt'
>;

/**
 * The phases of a chunk. A phase whose beginning or end was not kept is left out.
 * @param end the end for the phase in which the chunk is now.
 */
export function intervalsOf(chunk: Times, end: number): Interval[] {
  const { cutAt, uploadAt, submittedAt, finishedAt, downloadedAt, mergedAt } = chunk;
  const steps = [cutAt, uploadAt, submittedAt, finishedAt, downloadedAt, mergedAt];
  const last = steps.findLastIndex((at) => at !== null);
  return phases.flatMap((phase, at) => {
    const from = steps[at]!;
    const to = steps[at + 1] ?? (at === last && isGoingOn(chunk) ? end : null);
    return from === null || to === null || to < from ? [] : [{ phase, from, to }];
  });
}

/** Whether the chunk will pass another step. The rows of a round are merged with those of the source. */
function isGoingOn({ state, round, mergedAt }: Times): boolean {
  if (state === 'unprocessed' || state === 'refused' || state === 'split') return false;
  return state === 'downloaded' ? round === 0 && mergedAt === null : true;
}

/** The number of chunks in each phase, on average over each bin. */
export type ChunksByPhase = Readonly<Record<Phase, readonly number[]>>;

export interface TimelineCounter {
  add(chunk: ChunkTimes): void;
  readonly chunks: ChunksByPhase;
  /** Records that were uploaded, answered by the service and written, by the bin in which that ended. */
  readonly records: Readonly<Record<'uploaded' | 'answered' | 'written', readonly number[]>>;
}

export function countTimeline(bins: Bins): TimelineCounter {
  const zeros = () => new Array<number>(bins.count).fill(0);
  const width = (bins.to - bins.from) / bins.count;
  const chunks: Record<Phase, number[]> = {
    waiting: zeros(),
    uploading: zeros(),
    processing: zeros(),
    downloading: zeros(),
    merging: zeros(),
  };
  const records = { uploaded: zeros(), answered: zeros(), written: zeros() };
  const binOf = (at: number) => Math.min(Math.max(Math.floor((at - bins.from) / width), 0), bins.count - 1);
  const count = (into: number[], at: number | null, number: number) => {
    if (at !== null) into[binOf(at)]! += number;
  };
  return {
    chunks,
    records,
    add: (chunk) => {
      for (const { phase, from, to } of intervalsOf(chunk, bins.to)) {
        for (let bin = binOf(from); bin <= binOf(to); bin++) {
          const start = bins.from + bin * width;
          const overlap = Math.min(to, start + width) - Math.max(from, start);
          if (overlap > 0) chunks[phase][bin]! += overlap / width;
        }
      }
      count(records.uploaded, chunk.submittedAt, chunk.records);
      count(records.answered, chunk.finishedAt, chunk.records);
      count(records.written, chunk.mergedAt, chunk.records);
    },
  };
}

/** When the last step was passed; null if none was kept. */
export function lastStep(chunk: Times): number | null {
  const steps = [chunk.mergedAt, chunk.downloadedAt, chunk.finishedAt, chunk.submittedAt, chunk.uploadAt];
  const known = [...steps, chunk.cutAt].filter((at) => at !== null);
  return known.length === 0 ? null : Math.max(...known);
}
