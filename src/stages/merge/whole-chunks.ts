/** The stretches of a run that sends every record: each is a chunk. */
import { isAnswered } from '../../checkpoint/walk-run.js';
import { MAX_CHUNK_BYTES } from '../../config/sections.js';
import { type Answers, unprocessedAnswers } from '../../results/answers.js';
import type { BlockReader, SourceBlock } from '../../source/record-block.js';
import type { UnprocessedCause } from '../../types.js';
import { checkSameRecords, type ReadPosition } from '../read-source.js';
import type { ChunkAnswers } from './chunk-answers.js';
import type { MergeChunksNeeds } from './merge-needs.js';

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
  let merged = from.record - 1;
  let last: Answers | undefined;
  return {
    next: async (upTo) => {
      const chunk = await run.checkpoint.nextChunk(run.id, 0, merged);
      if (chunk === undefined) {
        if (unanswered === undefined) return undefined;
        const block = await records.take(recordsAtOnce, { maxBytes: MAX_CHUNK_BYTES });
        if (block.count === 0) return undefined;
        return { block, answers: unprocessedAnswers(block.count, unanswered, null) };
      }
      if (chunk.lastRecord > upTo) return undefined;
      const block = await records.take(chunk.records);
      checkSameRecords(run, chunk, block);
      merged = chunk.lastRecord;
      if (unanswered === undefined || isAnswered(chunk)) {
        last = await answers.forChunk(chunk, block);
        return { block, answers: last };
      }
      return { block, answers: unprocessedAnswers(block.count, unanswered, chunk.folio) };
    },
    release: () => {
      if (last !== undefined) answers.release(last);
      last = undefined;
    },
    close: async () => undefined,
  };
}

const recordsAtOnce = 10_000;
