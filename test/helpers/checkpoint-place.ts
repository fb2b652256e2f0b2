/** Where a step of a walk is taken, and what it finds there. */
import type {
  Budget,
  Checkpoint,
  ChunkRow,
  ChunkState,
  Run,
  RunState,
} from '../../src/checkpoint/checkpoint.js';
import { nothingTallied } from './checkpoint-samples.js';

/** Where a change is tried: a run, a chunk of it, and what varies the rest. */
export interface Place {
  readonly run: string;
  readonly chunk: number;
  /** 0, 1 or 2. */
  readonly vary: number;
  /** Which of several is taken, where a step is aimed. */
  readonly choice: number;
  /** The day and the caps of what is paid for. */
  readonly budget: Partial<Budget>;
}

/** What a change finds. */
export interface Seen {
  readonly run: Run | undefined;
  readonly row: ChunkRow | undefined;
  readonly picked: readonly number[] | undefined;
  /** The last record that is cut, of the source and of the first round that is not settled. */
  readonly lastOfSource: number;
  readonly lastOfRound: number;
}

export const ALL_STATES = Object.keys(nothingTallied) as ChunkState[];

/** Looks at a place. */
export async function seeAt(checkpoint: Checkpoint, { run: id, chunk }: Place): Promise<Seen> {
  const run = await checkpoint.run(id);
  return {
    run,
    row: await checkpoint.chunk(id, chunk),
    picked: await checkpoint.pickedRecords(id, chunk),
    lastOfSource: (await checkpoint.lastCut(id, 0))?.lastRecord ?? 0,
    lastOfRound: (await checkpoint.lastCut(id, nextRound(run)))?.lastRecord ?? 0,
  };
}

/** The first round that is not settled. */
export const nextRound = (run: Run | undefined) => (run?.round ?? 0) + 1;

/** States that a change of a chunk leaves. */
const LEAVES: Readonly<Record<string, readonly ChunkState[]>> = {
  recordSplit: ['cut', 'ambiguous'],
  splitOtherRecords: ['cut', 'ambiguous'],
  splitInOtherRound: ['cut', 'ambiguous'],
  recordRefused: ['cut', 'ambiguous'],
  recordIntent: ['cut', 'ambiguous'],
  recordAccepted: ['uploading'],
  recordDropped: ['uploading'],
  recordAmbiguous: ['uploading'],
  recordAdopted: ['ambiguous', 'unprocessed'],
  recordFound: ['unprocessed'],
  recordFinished: ['submitted'],
  recordPart: ['finished'],
  recordFailedPart: ['finished'],
  recordRefetched: ['finished', 'downloaded'],
  recordDownloaded: ['finished', 'downloaded'],
  recordUnprocessed: ['submitted', 'finished', 'downloaded'],
  recordLost: ['submitted', 'finished', 'downloaded'],
  recordHeld: ['ambiguous'],
};

/** The same of a run. */
const RUN_LEAVES: Readonly<Record<string, readonly RunState[]>> = {
  recordDone: ['publishing'],
  recordUnpublished: ['publishing'],
  recordReopened: ['done'],
  recordPruned: ['done', 'superseded'],
};

/** Whether a change can be right for a chunk that is in one of the states that it leaves. */
function suits(name: string, { records, cause }: ChunkRow): boolean {
  if (name === 'recordFound') return cause === 'FOLIO_LOST';
  if (name.startsWith('split') || name === 'recordSplit') return records > 1;
  if (name === 'recordRefused') return records === 1;
  return name !== 'recordAdopted' || cause !== 'DEADLINE';
}

/** A change of whatever chunk the place has, which may succeed there; a cut where there are none. */
export async function advance(
  checkpoint: Checkpoint,
  place: Place,
): Promise<{ readonly name: string; readonly place: Place }> {
  const rows = await checkpoint.chunksIn(place.run, ALL_STATES, 0, 100);
  const row = rows[place.chunk % rows.length];
  if (row === undefined) return { name: 'recordCut', place };
  const fitting = Object.keys(LEAVES).filter(
    (name) => name.startsWith('record') && LEAVES[name]!.includes(row.state) && suits(name, row),
  );
  const name = fitting[place.choice % fitting.length] ?? 'recordMerged';
  return { name, place: { ...place, chunk: row.number } };
}

/** The place with a run, a chunk or a searched record that the change may leave, where there is one. */
export async function aim(checkpoint: Checkpoint, name: string, place: Place): Promise<Place> {
  const { run, chunk, choice } = place;
  const pick = (all: readonly number[]) => ({ ...place, chunk: all[choice % all.length] ?? chunk });
  if (name in RUN_LEAVES) {
    const runs = (await checkpoint.runs()).filter(({ state }) => RUN_LEAVES[name]!.includes(state));
    return { ...place, run: runs[choice % runs.length]?.id ?? run };
  }
  if (name === 'recordMerged' || name === 'mergeOtherCounts') {
    const merged = await checkpoint.lastMerged(run);
    const next = await checkpoint.nextChunk(run, 0, merged?.firstRecord ?? 0);
    return pick(next === undefined ? [] : [next.number]);
  }
  if (name.startsWith('recordSearch') && name !== 'recordSearchIntent') {
    const asked = (await checkpoint.searches(run, 0, 100)).filter(({ state }) => state === 'intent');
    return pick(asked.map(({ record }) => record));
  }
  if (name === 'recordCut' || name === 'recordCutInRound') return place;
  const left = await checkpoint.chunksIn(run, LEAVES[name] ?? [], 0, 100);
  return pick(left.filter((row) => suits(name, row)).map(({ number }) => number));
}
