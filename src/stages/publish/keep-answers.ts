/**
 * Keeps the answers that a run has bought, for later runs: makes a segment of them when the run is published. Reused
 * answers stay in the segments from which they come.
 */
import type { Checkpoint, ChunkRow, RowCounts, Run } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachChunk } from '../../checkpoint/walk-run.js';
import { serviceAddress } from '../../config/sections/service-section.js';
import { SourceError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { originsOf } from '../../report/origins.js';
import type { ColumnChange } from '../../results/output-layout.js';
import type { SegmentWriter } from '../../reuse/answer-store.js';
import type { RunContext } from '../../run-context.js';
import type { Segment } from '../../types.js';
import { readChunkBlock, releaseBlock } from '../chunk/read-chunk.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { learnColumns } from '../merge/result-columns.js';

export type KeepAnswersNeeds = MergeChunksNeeds &
  Pick<RunContext, 'answers'> & {
    readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'segments'>;
  };

/**
 * Keeps the answers of a run that is being published, if it may reuse answers itself.
 * @param merged how its rows have ended; left out if they are in the work file.
 * @returns the segment, which must be committed; undefined if the run keeps none, has bought nothing, or its segment
 *   holds these answers already.
 */
export async function keepAnswers(run: KeepAnswersNeeds, merged?: RowCounts): Promise<Segment | undefined> {
  if (run.chosen === null) return undefined;
  const counts = merged ?? (await run.checkpoint.tally(run.id)).counts;
  const { records: _, ...of } = originsOf(counts).sent;
  const known = (await run.checkpoint.segments()).find((segment) => segment.run === run.id);
  const isKept = known?.of !== undefined && isSame(known.of, of) && !(await hasNewerRound(run, known));
  return isKept ? undefined : makeSegment(run, known, of);
}

/** Whether records were asked for again since the segment was made. They may have failed again, which counts as newer. */
async function hasNewerRound(run: KeepAnswersNeeds, { newest }: Segment): Promise<boolean> {
  for await (const { round, submittedAt } of eachChunk(run.checkpoint, run.id, ['downloaded'])) {
    if (round > 0 && submittedAt !== null && submittedAt > newest) return true;
  }
  return false;
}

/**
 * Reads all chunks of a run again, with the answers of rounds and searches, and makes a segment of them. Chunks whose
 * kept file is lost and whose source has changed are left out, and that is logged.
 * @param replaced the segment of the run that the new one replaces; then no chunk is left out.
 * @param of how the run's sent records have ended; undefined if it has not been published.
 * @returns undefined if there is no answer.
 * @throws SourceError when the source has changed, and a chunk that must not be left out was not kept.
 */
export async function makeSegment(
  run: KeepAnswersNeeds,
  replaced: Segment | undefined,
  of?: Segment['of'],
): Promise<Segment | undefined> {
  const row = (await run.checkpoint.run(run.id))!;
  for (let columns = row.columns?.length ? row.columns : await columnsOf(run); ; ) {
    // A run that was not merged to its end may have answers with more columns than it knows.
    const added = new Set<string>();
    const segment = await writeSegment(run, { row, replaced, of }, columns, added);
    if (added.size === 0) return segment;
    columns = [...columns, ...added];
  }
}

/** What a segment holds besides its answers; see `makeSegment`. */
interface SegmentTerms {
  readonly row: Run;
  readonly replaced: Segment | undefined;
  readonly of: Segment['of'] | undefined;
}

/** @param added gets columns that the segment lacks. It is then not made. */
async function writeSegment(
  run: KeepAnswersNeeds,
  { row, replaced, of }: SegmentTerms,
  columns: readonly string[],
  added: Set<string>,
): Promise<Segment | undefined> {
  const version = replaced === undefined ? 1 : Number(replaced.id.slice(run.id.length + 1)) + 1;
  const writer = await run.answers.openSegment({
    id: `${run.id}-${version}`,
    run: run.id,
    service: row.rehearsal ? serviceAddress(run.config) : row.service,
    rehearsal: row.rehearsal,
    sentColumns: Object.keys(run.config.upload.columns),
    keyColumn: run.config.upload.keyColumn,
    columns,
    // A run from before `reuse` was set has no epoch.
    epoch: row.choice?.epoch ?? '',
    ...(of && { of }),
  });
  try {
    const mayLeaveOut = run.chosen !== null && replaced === undefined;
    const isAny = await addChunks(run, writer, columns, added, mayLeaveOut);
    return isAny && added.size === 0 ? await writer.finish() : undefined;
  } finally {
    await writer.close();
  }
}

/** The columns that the service has added in a run that was superseded before it had merged anything. */
async function columnsOf(run: KeepAnswersNeeds): Promise<readonly string[]> {
  const declared = run.config.result.columns;
  if (declared.length > 0) return declared;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
    if (chunk.state !== 'downloaded' || chunk.counts!.successful === 0) continue;
    const learned = await learnColumns(run, chunk);
    if (learned !== undefined) return learned;
  }
  return [];
}

/** @returns whether there was an answer. */
async function addChunks(
  run: KeepAnswersNeeds,
  writer: SegmentWriter,
  columns: readonly string[],
  added: Set<string>,
  mayLeaveOut: boolean,
): Promise<boolean> {
  const onChange = (_: ChunkRow, { unknown }: ColumnChange) => {
    for (const column of unknown) added.add(column);
  };
  const answers = await openChunkAnswers(run, { columns, onChange });
  let isAny = false;
  let lost = 0;
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (chunk.state !== 'downloaded') continue;
      const block = await readIfPossible(run, chunk, mayLeaveOut);
      if (block === undefined) {
        lost += chunk.records;
        continue;
      }
      const found = await answers.forChunk(chunk, block);
      await writer.add(block, block.numbers, found);
      answers.release(found);
      releaseBlock(block);
      isAny = true;
    }
  } finally {
    await answers.close();
  }
  if (lost > 0) {
    run.logger.warn(
      { run: run.id, records: lost },
      `run ${run.id}: the answers of ${countOf(lost, 'record')} cannot be kept for later runs, because the source has changed`,
    );
  }
  return isAny;
}

/** The records of a chunk; undefined if neither its file nor the source has them any more. */
async function readIfPossible(run: KeepAnswersNeeds, chunk: ChunkRow, mayLeaveOut: boolean) {
  try {
    return await readChunkBlock(run, chunk);
  } catch (error) {
    if (!(error instanceof SourceError) || !mayLeaveOut) throw error;
    return undefined;
  }
}

function isSame(a: NonNullable<Segment['of']>, b: NonNullable<Segment['of']>): boolean {
  return a.successful === b.successful && a.failed === b.failed && a.unprocessed === b.unprocessed;
}

/** Removes the chunk files that a run has kept until its answers were in a segment. */
export async function removeKeptChunks(
  run: Pick<RunContext, 'id' | 'keepsChunks' | 'files'> & {
    readonly checkpoint: Pick<Checkpoint, 'chunksIn'>;
  },
): Promise<void> {
  if (!run.keepsChunks) return;
  for await (const { number } of eachChunk(run.checkpoint, run.id, ['downloaded', 'unprocessed'])) {
    await run.files.removeChunk(number);
  }
}
