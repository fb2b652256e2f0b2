/**
 * The stretches of a run without a choice: each is a chunk, with the blank records in it that were not sent. A chunk that
 * is large, or has large answers, is joined as a whole and given in several stretches, so that its rows take little
 * memory. Blank records between chunks are stretches of their own.
 */
import type { Checkpoint, Stretch } from '../../checkpoint/checkpoint.js';
import { isAnswered } from '../../checkpoint/walk-run.js';
import { MAX_CHUNK_BYTES } from '../../config/sections/sections.js';
import { endOfFitting } from '../../csv/table.js';
import { type Answers, skippedAnswers, sliceOfAnswers, unprocessedAnswers } from '../../results/answers.js';
import type { RunContext } from '../../run-context.js';
import {
  type BlockReader,
  type RecordBlock,
  type SourceBlock,
  sliceOfBlock,
} from '../../source/record-block.js';
import type { UnprocessedCause } from '../../types.js';
import { bytesInSource, checkSameRecords, type ReadPosition, skipsBlank } from '../read-source.js';
import { type ChunkAnswers, unansweredError } from './chunk-answers.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { sentRecords, withSkipped } from './skipped-records.js';

export type LastMergedNeeds = Pick<RunContext, 'id' | 'chosen'> & {
  readonly checkpoint: Pick<Checkpoint, 'lastStretch' | 'nextChunk' | 'recordUnmerged'>;
};

/**
 * The last stretch that is merged. A chunk is joined as a whole, so the stretches of one that is merged in part are
 * taken back.
 */
export async function lastMerged(run: LastMergedNeeds): Promise<Stretch | undefined> {
  const last = await run.checkpoint.lastStretch(run.id);
  if (last === undefined || run.chosen !== null) return last;
  const chunk = await run.checkpoint.nextChunk(run.id, 0, last.lastRecord);
  if (chunk === undefined || chunk.firstRecord > last.lastRecord) return last;
  await run.checkpoint.recordUnmerged(run.id, chunk.firstRecord);
  return run.checkpoint.lastStretch(run.id);
}

/** The records of a stretch, and their answers; valid until the next ones are asked for. */
export interface AnsweredBlock {
  readonly block: SourceBlock;
  readonly answers: Answers;
}

/** Gives answered blocks in the order of the source. */
export interface AnsweredBlocks {
  /**
   * The next block.
   * @param upTo chunks with records up to this one are answered.
   * @returns undefined if it is not answered yet, or at the end of the source.
   */
  next(upTo: number): Promise<AnsweredBlock | undefined>;
  /** Says that the last block is no longer needed. */
  release(): void;
  close(): Promise<void>;
}

/**
 * Records that are not cut into chunks yet are given in stretches of their own.
 * @param from the position of the first chunk.
 * @param unanswered the cause for chunks and records without an answer. Without it they end the blocks.
 */
export function wholeChunks(
  run: MergeChunksNeeds,
  from: ReadPosition,
  records: BlockReader,
  answers: ChunkAnswers,
  unanswered: UnprocessedCause | undefined,
): AnsweredBlocks {
  const hasSkipped = skipsBlank(run.source);
  let merged = from.record - 1;
  /** The chunk, or the records without one, of which `given` records are given already. */
  let open: AnsweredBlock | undefined;
  let given = 0;
  let last: Answers | undefined;

  /** The next records without a chunk: blank ones, and at a deadline those that are not cut yet. */
  const withoutChunk = async (upTo: number): Promise<AnsweredBlock | undefined> => {
    const block = await records.take(recordsAtOnce, { maxBytes: MAX_CHUNK_BYTES, upTo });
    if (block.count === 0) return undefined;
    const rest = block.blank.length === 0 ? block : sentRecords(block);
    if (rest.count > 0 && unanswered === undefined) throw unansweredError(run.id, rest.numbers[0]!);
    if (rest.count === 0) return { block, answers: skippedAnswers(block.count) };
    return withBlank(block, rest, unprocessedAnswers(rest.count, unanswered!, null));
  };

  const nextChunk = async (upTo: number): Promise<AnsweredBlock | undefined> => {
    const chunk = await run.checkpoint.nextChunk(run.id, 0, merged);
    if (chunk === undefined) {
      return unanswered === undefined && !hasSkipped ? undefined : withoutChunk(upTo);
    }
    if (chunk.lastRecord > upTo) return undefined;
    const before = hasSkipped ? await withoutChunk(chunk.firstRecord - 1) : undefined;
    if (before !== undefined) return before;
    const expectedBytes = bytesInSource(chunk);
    const block = await (hasSkipped
      ? records.take(Number.MAX_SAFE_INTEGER, { upTo: chunk.lastRecord, expectedBytes })
      : records.take(chunk.records, { expectedBytes }));
    const sent = block.blank.length === 0 ? block : sentRecords(block);
    checkSameRecords(run, chunk, sent);
    merged = chunk.lastRecord;
    if (unanswered === undefined || isAnswered(chunk)) {
      last = await answers.forChunk(chunk, sent);
      return withBlank(block, sent, last);
    }
    return withBlank(block, sent, unprocessedAnswers(sent.count, unanswered, chunk.folio));
  };

  return {
    next: async (upTo) => {
      open ??= await nextChunk(upTo);
      if (open === undefined) return undefined;
      const { block } = open;
      const from = given;
      const most = Math.min(block.count, from + recordsOfStretch(open));
      given = Math.max(from + 1, endOfFitting(block, from, most, STRETCH_BYTES));
      return { block: sliceOfBlock(block, from, given), answers: sliceOfAnswers(open.answers, from, given) };
    },
    release: () => {
      if (given !== open?.block.count) return;
      open = undefined;
      given = 0;
      if (last !== undefined) answers.release(last);
      last = undefined;
    },
    close: async () => undefined,
  };
}

function withBlank(block: SourceBlock, sent: RecordBlock, answers: Answers): AnsweredBlock {
  if (sent === block) return { block, answers };
  return { block, answers: withSkipped(block, { numbers: sent.numbers, answers }) };
}

/** Most bytes of the records of a stretch; with their answers, on average. A chunk of the usual size has fewer. */
const STRETCH_BYTES = 3 * 1024 * 1024;

function recordsOfStretch({ block, answers }: AnsweredBlock): number {
  const tables = answers.sources.map((one) => (one.origin === 'fixed' ? 0 : one.table.bytes.length));
  const bytes = tables.reduce((sum, length) => sum + length, block.bytes.length);
  return Math.ceil(block.count / Math.ceil((bytes + 1) / STRETCH_BYTES));
}

const recordsAtOnce = 10_000;
