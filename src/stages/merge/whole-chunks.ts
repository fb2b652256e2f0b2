/**
 * The stretches of a run without a choice: each is a chunk, with the blank records in it that were not sent. Blank
 * records between chunks are stretches of their own.
 */
import { isAnswered } from '../../checkpoint/walk-run.js';
import { MAX_CHUNK_BYTES } from '../../config/sections.js';
import { type Answers, skippedAnswers, unprocessedAnswers } from '../../results/answers.js';
import type { BlockReader, RecordBlock, SourceBlock } from '../../source/record-block.js';
import type { UnprocessedCause } from '../../types.js';
import { checkSameRecords, type ReadPosition, skipsBlank } from '../read-source.js';
import { type ChunkAnswers, unansweredError } from './chunk-answers.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { sentRecords, withSkipped } from './skipped-records.js';

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
  /** Frees the buffers of the last answers. */
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

  return {
    next: async (upTo) => {
      const chunk = await run.checkpoint.nextChunk(run.id, 0, merged);
      if (chunk === undefined) {
        return unanswered === undefined && !hasSkipped ? undefined : withoutChunk(upTo);
      }
      if (chunk.lastRecord > upTo) return undefined;
      const before = hasSkipped ? await withoutChunk(chunk.firstRecord - 1) : undefined;
      if (before !== undefined) return before;
      const block = await (hasSkipped
        ? records.take(Number.MAX_SAFE_INTEGER, { upTo: chunk.lastRecord })
        : records.take(chunk.records));
      const sent = block.blank.length === 0 ? block : sentRecords(block);
      checkSameRecords(run, chunk, sent);
      merged = chunk.lastRecord;
      if (unanswered === undefined || isAnswered(chunk)) {
        last = await answers.forChunk(chunk, sent);
        return withBlank(block, sent, last);
      }
      return withBlank(block, sent, unprocessedAnswers(sent.count, unanswered, chunk.folio));
    },
    release: () => {
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

const recordsAtOnce = 10_000;
