/**
 * The stretches of a run without a choice: each is a chunk, with the blank records in it that were not sent. A chunk that
 * is large, or has large answers, is joined as a whole and given in several stretches, so that its rows take little
 * memory. Blank records between chunks are stretches of their own.
 */
import type { Checkpoint, ChunkRow, Stretch } from '../../checkpoint/checkpoint.js';
import { isAnswered } from '../../checkpoint/walk-run.js';
import { releaseRange } from '../../csv/kernel/table-memory.js';
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
import { isStreamed } from '../chunk/chunk-content.js';
import { checkNextRecords, streamChunk } from '../chunk/stream-chunk.js';
import { bytesInSource, checkSameRecords, type ReadPosition, skipsBlank } from '../read-source.js';
import { type ChunkAnswers, unansweredError } from './chunk-answers.js';
import type { ChunkRecords } from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { sentRecords, withSkipped } from './skipped-records.js';

type LastMergedNeeds = Pick<RunContext, 'id' | 'chosen'> & {
  readonly checkpoint: Pick<Checkpoint, 'lastStretch' | 'nextChunk' | 'recordUnmerged'>;
};

/**
 * The last stretch that is merged. A chunk is joined as a whole, so the stretches of a partly merged chunk become
 * unmerged.
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
   * @returns undefined if the next block is not answered yet, or at the end of the source.
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
  let open: Stretches | undefined;
  let last: Answers | undefined;

  /** The next records without a chunk: blank ones, and at a deadline those that are not cut yet. */
  const withoutChunk = async (upTo: number): Promise<Stretches | undefined> => {
    const block = await records.take(recordsAtOnce, { maxBytes: STRETCH_BYTES, upTo });
    if (block.count === 0) return undefined;
    const rest = withoutSkipped(block);
    if (rest.count > 0 && unanswered === undefined) throw unansweredError(run.id, rest.numbers[0]!);
    if (rest.count === 0) return stretchesOf({ block, answers: skippedAnswers(block.count) });
    return stretchesOf(withBlank(block, rest, unprocessedAnswers(rest.count, unanswered!, null)));
  };

  const answersFor = async (chunk: ChunkRow, sent: ChunkRecords): Promise<Answers> => {
    if (unanswered !== undefined && !isAnswered(chunk)) {
      return unprocessedAnswers(chunk.records, unanswered, chunk.folio);
    }
    last = await answers.forChunk(chunk, sent);
    return last;
  };

  const nextChunk = async (upTo: number): Promise<Stretches | undefined> => {
    if (merged >= upTo) return undefined;
    const chunk = await run.checkpoint.nextChunk(run.id, 0, merged);
    if (chunk === undefined) {
      return unanswered === undefined && !hasSkipped ? undefined : withoutChunk(upTo);
    }
    if (chunk.lastRecord > upTo) return undefined;
    const before = hasSkipped ? await withoutChunk(chunk.firstRecord - 1) : undefined;
    if (before !== undefined) return before;
    merged = chunk.lastRecord;
    if (isStreamed(run, chunk)) {
      const sent = await streamChunk(run, chunk);
      return readAgain(run, chunk, records, sent.numbers, await answersFor(chunk, sent));
    }
    const expectedBytes = bytesInSource(chunk);
    const block = await (hasSkipped
      ? records.take(Number.MAX_SAFE_INTEGER, { upTo: chunk.lastRecord, expectedBytes })
      : records.take(chunk.records, { expectedBytes }));
    const sent = withoutSkipped(block);
    checkSameRecords(run, chunk, sent);
    return stretchesOf(withBlank(block, sent, await answersFor(chunk, sent)));
  };

  return {
    next: async (upTo) => {
      open ??= await nextChunk(upTo);
      return open?.next();
    },
    release: () => {
      open?.release();
      if (open?.isEnd() !== true) return;
      open = undefined;
      if (last !== undefined) answers.release(last);
      last = undefined;
    },
    close: async () => undefined,
  };
}

/** The stretches of a chunk, or of records without one. */
interface Stretches {
  next(): Promise<AnsweredBlock>;
  /** Whether all are given. */
  isEnd(): boolean;
  /** Frees the memory of the last one's own arrays. */
  release(): void;
}

function stretchesOf({ block, answers }: AnsweredBlock): Stretches {
  const most = recordsOfStretch(block.count, block.bytes.length, answers);
  let given = 0;
  let last = block;
  return {
    next: async () => {
      const from = given;
      given = Math.max(
        from + 1,
        endOfFitting(block, from, Math.min(block.count, from + most), STRETCH_BYTES),
      );
      last = sliceOfBlock(block, from, given);
      return { block: last, answers: sliceOfAnswers(answers, from, given) };
    },
    isEnd: () => given === block.count,
    release: () => {
      if (last !== block) releaseRange(last);
    },
  };
}

/** The stretches of a chunk whose records are not in memory. @param numbers of its records. */
function readAgain(
  run: MergeChunksNeeds,
  chunk: ChunkRow,
  records: BlockReader,
  numbers: Int32Array,
  answers: Answers,
): Stretches {
  const { lastRecord: upTo } = chunk;
  const most = recordsOfStretch(chunk.records, chunk.bytes, answers);
  let given = 0;
  return {
    next: async () => {
      const block = await records.take(most, { maxBytes: STRETCH_BYTES, upTo });
      const sent = withoutSkipped(block);
      checkNextRecords(run, chunk, numbers, given, block.count === 0 ? undefined : sent);
      const from = given;
      given += sent.count;
      return withBlank(block, sent, sliceOfAnswers(answers, from, given));
    },
    isEnd: () => given === chunk.records,
    release: () => undefined,
  };
}

function withoutSkipped(block: SourceBlock): RecordBlock {
  return block.blank.length === 0 ? block : sentRecords(block);
}

function withBlank(block: SourceBlock, sent: RecordBlock, answers: Answers): AnsweredBlock {
  if (sent === block) return { block, answers };
  return { block, answers: withSkipped(block, { numbers: sent.numbers, answers }) };
}

/** The most bytes of a stretch's records, and the average with their answers. A chunk of the usual size has fewer. */
const STRETCH_BYTES = 3 * 1024 * 1024;

/** The most records of a stretch. @param bytes about how many bytes the records have. */
function recordsOfStretch(records: number, bytes: number, { sources }: Answers): number {
  const tables = sources.map((one) => (one.origin === 'fixed' ? 0 : one.table.bytes.length));
  const all = tables.reduce((sum, length) => sum + length, bytes);
  return Math.ceil(records / Math.ceil((all + 1) / STRETCH_BYTES));
}

const recordsAtOnce = 10_000;
