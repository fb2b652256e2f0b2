/**
 * The stretches of a run that takes some answers from earlier runs: puts together the answers of reused records and
 * those of chunks. Invariant: at most one joined chunk and one lane of reused answers are in memory.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { isAnswered } from '../../checkpoint/walk-run.js';
import { UntrustedError } from '../../errors.js';
import { createAnswerBuilder, type NumberedAnswers, unprocessedAnswers } from '../../results/answers.js';
import type { ChosenAnswers } from '../../reuse/answer-store.js';
import type { BlockReader } from '../../source/record-block.js';
import type { UnprocessedCause } from '../../types.js';
import { readChunkBlock } from '../chunk/read-chunk.js';
import type { ReadPosition } from '../read-source.js';
import type { ChunkAnswers } from './chunk-answers.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import type { AnsweredBlocks } from './whole-chunks.js';

/** Most records of a stretch, and most of their bytes: few, so that memory stays flat whatever share is sent. */
const STRETCH = { records: 32_768, bytes: 8 * 1024 * 1024 };

/**
 * @param from the position of the first stretch.
 * @param unanswered the cause for records without an answer; without it they are an error.
 */
export function openChosenStretches(
  run: MergeChunksNeeds & { readonly chosen: ChosenAnswers },
  from: ReadPosition,
  records: BlockReader,
  chunkAnswers: ChunkAnswers,
  unanswered: UnprocessedCause | undefined,
): AnsweredBlocks {
  const reused = cursorOf(run.chosen.reused(from.record, run.config.output.lineage));
  const sent = cursorOf(sentAnswers(run, from.record - 1, chunkAnswers, unanswered));

  return {
    next: async (upTo) => {
      const block = await records.take(STRETCH.records, { maxBytes: STRETCH.bytes, upTo });
      if (block.count === 0) return undefined;
      const builder = createAnswerBuilder(block.numbers);
      for (const cursor of [reused, sent]) {
        for await (const piece of cursor.upTo(block.numbers[block.count - 1]!)) builder.add(piece);
      }
      if (unanswered !== undefined) builder.addRest(unprocessedAnswers(1, unanswered, null));
      const missing = builder.firstMissing();
      if (missing !== undefined) throw unansweredError(run.id, missing);
      return { block, answers: builder.answers() };
    },
    release: () => undefined,
    close: async () => {
      await reused.close();
      await sent.close();
    },
  };
}

/** The answers of the chunks that end after a record. Chunks without an answer are left out. */
async function* sentAnswers(
  run: MergeChunksNeeds,
  after: number,
  answers: ChunkAnswers,
  unanswered: UnprocessedCause | undefined,
): AsyncGenerator<NumberedAnswers, void> {
  let chunk: ChunkRow | undefined;
  for (let merged = after; ; merged = chunk.lastRecord) {
    chunk = await run.checkpoint.nextChunk(run.id, 0, merged);
    if (chunk === undefined) return;
    if (unanswered !== undefined && !isAnswered(chunk)) continue;
    const block = await readChunkBlock(run, chunk);
    yield { numbers: block.numbers, answers: await answers.forChunk(chunk, block) };
    answers.release();
  }
}

/** Walks over pieces of answers in the order of the source. A piece is given again while later records need it. */
interface Cursor {
  /** The pieces with records up to this one. */
  upTo(record: number): AsyncGenerator<NumberedAnswers>;
  close(): Promise<void>;
}

function cursorOf(pieces: AsyncGenerator<NumberedAnswers, void>): Cursor {
  let current: NumberedAnswers | undefined;
  return {
    upTo: async function* (record) {
      for (;;) {
        current ??= (await pieces.next()).value ?? undefined;
        if (current === undefined || current.numbers[0]! > record) return;
        yield current;
        if (current.numbers.at(-1)! > record) return;
        current = undefined;
      }
    },
    close: async () => {
      await pieces.return(undefined);
    },
  };
}

function unansweredError(run: string, record: number): UntrustedError {
  return new UntrustedError(
    'RECORD_UNANSWERED',
    `run ${run}: record ${record} has neither a reused answer nor one of a chunk`,
    {
      hint: 'nothing is published; this is a fault of foliopipe, please report it with the state folder',
      facts: { run, record },
    },
  );
}
