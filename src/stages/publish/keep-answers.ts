/**
 * Keeps the answers that a run has bought, for later runs: makes a segment of them when the run is published. Reused
 * answers stay in the segments from which they come.
 */
import type { Checkpoint, ChunkRow, RowCounts, Run } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachChunk } from '../../checkpoint/walk-run.js';
import { frozenAddress } from '../../config/frozen-config.js';
import { type FoliopipeError, SourceError, UntrustedError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { originsOf } from '../../report/origins.js';
import type { ColumnChange } from '../../results/output-layout.js';
import type { SegmentWriter } from '../../reuse/answer-store.js';
import type { RunContext } from '../../run-context.js';
import type { Segment } from '../../types.js';
import { readChunkBlock, releaseBlock } from '../chunk/chunk-content.js';
import { errorOfChunk, isPartDamaged } from '../download/repair-parts.js';
import { openChunkAnswers } from '../merge/chunk-answers.js';
import type { MergeChunksNeeds } from '../merge/merge-needs.js';
import { learnColumns } from '../merge/result-columns.js';

export type MakeSegmentNeeds = MergeChunksNeeds & Pick<RunContext, 'answers'>;

export type KeepAnswersNeeds = MakeSegmentNeeds & {
  readonly checkpoint: Pick<Checkpoint, 'chunksIn' | 'segments'>;
};

/** A segment of a run, and the id of the older one that it replaces. */
interface KeptAnswers {
  readonly segment: Segment;
  readonly replaced: string | undefined;
}

/**
 * Keeps the answers of a run that is being published, if it may reuse answers itself. Parts that were damaged since they
 * were merged are fetched again. If the run has a segment already and not all answers can be read again, that segment
 * stays: the output must not wait for this.
 * @param merged how its rows have ended; left out if they are in the work file.
 * @returns the segment, which must be committed, and then `removeReplaced` called; undefined if the run keeps none, has
 *   bought nothing, or its segment holds these answers already.
 */
export async function keepAnswers(
  run: KeepAnswersNeeds,
  merged?: RowCounts,
): Promise<KeptAnswers | undefined> {
  if (run.chosen === null) return undefined;
  const counts = merged ?? (await run.checkpoint.tally(run.id)).counts;
  const { records: _, ...of } = originsOf(counts).sent;
  const known = (await run.checkpoint.segments()).find((segment) => segment.run === run.id);
  const isKept = known?.of !== undefined && isSame(known.of, of) && !(await hasNewerRound(run, known));
  // A run may have a choice only for `upload.duplicates`. If reuse is set later, its stored results can still be used.
  const isUseless = run.config.reuse.maxAge === 0 && known === undefined;
  if (isKept || isUseless) return undefined;
  try {
    const segment = await makeSegment(run, known, of);
    return segment && { segment, replaced: known?.id };
  } catch (error) {
    if (known === undefined || !isLost(error)) throw error;
    run.logger.warn(
      { run: run.id, segment: known.id, reason: error.message },
      `run ${run.id}: what it has bought since segment ${known.id} cannot be kept for later runs: ${error.message}`,
    );
    return undefined;
  }
}

/** Whether the records of a chunk cannot be read any more, or a part of its results stays damaged. */
function isLost(error: unknown): error is FoliopipeError {
  return error instanceof SourceError || isPartDamaged(error);
}

/** Whether the results of a chunk do not match its records, or only in another way than the run's join method. */
function isUnjoined(error: unknown): boolean {
  return error instanceof UntrustedError && !isPartDamaged(error);
}

/** Removes the file of the segment that was replaced: without its row it is a leftover. */
export async function removeReplaced(
  { answers }: Pick<RunContext, 'answers'>,
  kept: KeptAnswers | undefined,
): Promise<void> {
  if (kept?.replaced !== undefined) await answers.removeSegment(kept.replaced);
}

/** Whether records were asked for again since the segment was made. They may have failed again, which counts as newer. */
async function hasNewerRound(run: KeepAnswersNeeds, { newest }: Segment): Promise<boolean> {
  for await (const { round, submittedAt } of eachChunk(run.checkpoint, run.id, ['downloaded'])) {
    if (round > 0 && submittedAt !== null && submittedAt > newest) return true;
  }
  return false;
}

/**
 * Reads all chunks of a run again, with the answers of rounds and searches, and makes a segment of them. Leaves out, with
 * a warning, chunks whose kept file is lost and whose source has changed, chunks with a part that stays damaged,
 * and chunks whose results do not match although other chunks prove the run's join.
 * @param replaced the segment of the run that the new one replaces; then no chunk is left out.
 * @param of how the run's sent records have ended; left out if it has not been published.
 * @returns undefined if there is no answer.
 * @throws SourceError when the source has changed, and a chunk that must not be left out was not kept.
 */
export async function makeSegment(
  run: MakeSegmentNeeds,
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
  run: MakeSegmentNeeds,
  { row, replaced, of }: SegmentTerms,
  columns: readonly string[],
  added: Set<string>,
): Promise<Segment | undefined> {
  const version = replaced === undefined ? 1 : Number(replaced.id.slice(run.id.length + 1)) + 1;
  const writer = await run.answers.openSegment({
    id: `${run.id}-${version}`,
    run: run.id,
    service: row.rehearsal ? frozenAddress(row) : row.service,
    rehearsal: row.rehearsal,
    sentColumns: Object.keys(run.config.upload.columns),
    keyColumn: run.config.upload.keyColumn,
    columns,
    // A run from before `reuse` was set has no epoch.
    epoch: row.choice?.epoch ?? '',
    ...(of && { of }),
  });
  try {
    const isAny = await addChunks(run, writer, { columns, added, isFirst: replaced === undefined });
    return isAny && added.size === 0 ? await writer.finish() : undefined;
  } finally {
    await writer.close();
  }
}

/** The columns that the service has added in a run that was superseded before it had merged anything. */
async function columnsOf(run: MakeSegmentNeeds): Promise<readonly string[]> {
  const declared = run.config.result.columns;
  if (declared.length > 0) return declared;
  for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
    if (chunk.state !== 'downloaded' || chunk.counts!.successful === 0) continue;
    const learned = await learnColumns(run, chunk).catch((error: unknown) => {
      // Whether it may be left out is decided when its answers are read.
      if (isLost(error)) return undefined;
      throw error;
    });
    if (learned !== undefined) return learned;
  }
  return [];
}

/** @returns whether there was an answer. */
async function addChunks(
  run: MakeSegmentNeeds,
  writer: SegmentWriter,
  terms: {
    readonly columns: readonly string[];
    readonly added: Set<string>;
    readonly isFirst: boolean;
  },
): Promise<boolean> {
  const { columns, added, isFirst } = terms;
  const isProven = () => run.join.method?.judged?.isProven === true;
  const onChange = (_: ChunkRow, { unknown }: ColumnChange) => {
    for (const column of unknown) added.add(column);
  };
  const answers = await openChunkAnswers(run, { columns, onChange, isFinal: true });
  let isAny = false;
  let lost = 0;
  let unjoined: unknown;
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id)) {
      if (chunk.state !== 'downloaded') continue;
      try {
        // The chunk's file may be made from its results, which may be damaged.
        const block = await readChunkBlock(run, chunk).catch((error: unknown) => {
          throw errorOfChunk(run.id, chunk, error);
        });
        const found = await answers.forChunk(chunk, block);
        await writer.add(block, block.numbers, found);
        answers.release(found);
        releaseBlock(block);
        isAny = true;
      } catch (error) {
        // Answers that were joined before without a proof may be just as wrong.
        const isUnmatched = isUnjoined(error) && run.refetch === undefined && (isProven() || !isAny);
        if (!isFirst || !(isLost(error) || isUnmatched)) throw error;
        if (isUnmatched) unjoined ??= error;
        lost += chunk.records;
      }
    }
  } finally {
    await answers.close();
  }
  if (unjoined !== undefined && !isProven()) throw unjoined;
  if (lost > 0) {
    run.logger.warn(
      { run: run.id, records: lost },
      `run ${run.id}: the answers of ${countOf(lost, 'record')} cannot be kept for later runs, because the source has changed, or stored results are damaged or do not match`,
    );
  }
  return isAny;
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
