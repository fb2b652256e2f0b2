/**
 * The property test walks through changes of a checkpoint. This file chooses the run and the chunk that a step
 * changes, so that many steps are allowed ones.
 */
import type {
  Budget,
  Checkpoint,
  ChunkRow,
  ChunkState,
  Run,
  RunState,
} from '../../../src/checkpoint/checkpoint.js';
import { nothingTallied } from './samples.js';

/** What a step changes: a run, a chunk of it, and numbers that vary the arguments. */
export interface StepTarget {
  readonly run: string;
  readonly chunk: number;
  /** 0, 1 or 2. */
  readonly vary: number;
  /** Which of several suitable runs or chunks is taken. */
  readonly choice: number;
  /** Day and caps for steps that pay. */
  readonly budget: Partial<Budget>;
}

/** The state before a step. */
export interface StateBefore {
  readonly run: Run | undefined;
  readonly row: ChunkRow | undefined;
  readonly picked: readonly number[] | undefined;
  /** The last record that was cut, of the source and of the first round that is not closed. */
  readonly lastOfSource: number;
  readonly lastOfRound: number;
}

export const ALL_STATES = Object.keys(nothingTallied) as ChunkState[];

/** Reads the state before a step. */
export async function lookAt(checkpoint: Checkpoint, { run: id, chunk }: StepTarget): Promise<StateBefore> {
  const run = await checkpoint.run(id);
  return {
    run,
    row: await checkpoint.chunk(id, chunk),
    picked: await checkpoint.pickedRecords(id, chunk),
    lastOfSource: (await checkpoint.lastCut(id, 0))?.lastRecord ?? 0,
    lastOfRound: (await checkpoint.lastCut(id, nextRound(run)))?.lastRecord ?? 0,
  };
}

/** The first round that is not closed. */
export const nextRound = (run: Run | undefined) => (run?.round ?? 0) + 1;

/** States in which a chunk must be for a change. */
const CHUNK_STATES_BEFORE: Readonly<Record<string, readonly ChunkState[]>> = {
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
  recordParts: ['finished'],
  recordFailedPart: ['finished'],
  recordRefetched: ['finished', 'downloaded'],
  recordDownloaded: ['finished', 'downloaded'],
  recordUnprocessed: ['submitted', 'finished', 'downloaded'],
  recordLost: ['submitted', 'finished', 'downloaded'],
  recordHeld: ['ambiguous'],
};

/** States in which a run must be for a change. */
const RUN_STATES_BEFORE: Readonly<Record<string, readonly RunState[]>> = {
  recordDone: ['publishing'],
  recordUnpublished: ['publishing'],
  recordReopened: ['done', 'withheld'],
  recordPruned: ['done', 'withheld', 'superseded'],
};

/** Whether a chunk that is in the right state also has what the change needs. */
function suits(name: string, { records, cause }: ChunkRow): boolean {
  if (name === 'recordFound') return cause === 'FOLIO_LOST';
  if (name.startsWith('split') || name === 'recordSplit') return records > 1;
  if (name === 'recordRefused') return records === 1;
  return name !== 'recordAdopted' || cause !== 'DEADLINE';
}

/** Chooses a change that may succeed for a chunk of the run; a cut if there are no chunks. */
export async function advance(
  checkpoint: Checkpoint,
  target: StepTarget,
): Promise<{ readonly name: string; readonly target: StepTarget }> {
  const rows = await checkpoint.chunksIn(target.run, ALL_STATES, 0, 100);
  const row = rows[target.chunk % rows.length];
  if (row === undefined) return { name: 'recordCut', target };
  const fitting = Object.keys(CHUNK_STATES_BEFORE).filter(
    (name) => name.startsWith('record') && CHUNK_STATES_BEFORE[name]!.includes(row.state) && suits(name, row),
  );
  const name = fitting[target.choice % fitting.length] ?? 'recordMerged';
  return { name, target: { ...target, chunk: row.number } };
}

/** Moves the target to a run, a chunk or a searched record that the change may succeed for, if there is one. */
export async function aim(checkpoint: Checkpoint, name: string, target: StepTarget): Promise<StepTarget> {
  const { run, chunk, choice } = target;
  const pick = (all: readonly number[]) => ({ ...target, chunk: all[choice % all.length] ?? chunk });
  if (name in RUN_STATES_BEFORE) {
    const runs = (await checkpoint.runs()).filter(({ state }) => RUN_STATES_BEFORE[name]!.includes(state));
    return { ...target, run: runs[choice % runs.length]?.id ?? run };
  }
  if (name === 'recordMerged' || name === 'mergeOtherCounts') {
    const merged = await checkpoint.lastStretch(run);
    const next = await checkpoint.nextChunk(run, 0, merged?.lastRecord ?? 0);
    return pick(next === undefined ? [] : [next.number]);
  }
  if (name.startsWith('recordSearch') && name !== 'recordSearchIntent') {
    const asked = (await checkpoint.searches(run, 0, 100)).filter(({ state }) => state === 'intent');
    return pick(asked.map(({ record }) => record));
  }
  if (name === 'recordCut' || name === 'recordCutInRound') return target;
  const left = await checkpoint.chunksIn(run, CHUNK_STATES_BEFORE[name] ?? [], 0, 100);
  return pick(left.filter((row) => suits(name, row)).map(({ number }) => number));
}
