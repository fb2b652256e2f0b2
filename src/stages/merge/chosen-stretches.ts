/**
 * The stretches of a run that takes some answers from earlier runs: puts together the answers of reused records and
 * those of chunks. Invariant: only the joined chunks and the lanes of reused answers that a stretch needs are in memory.
 */
import { isAnswered } from '../../checkpoint/walk-run.js';
import {
  type Answers,
  createAnswerBuilder,
  type NumberedAnswers,
  unprocessedAnswers,
} from '../../results/answers.js';
import { splitColumns } from '../../results/split-columns.js';
import type { ChosenAnswers } from '../../reuse/answer-store.js';
import { giveBackLane } from '../../reuse/answer-tables.js';
import type { BlockReader } from '../../source/record-block.js';
import { giveBack } from '../../streams/large-buffers.js';
import type { UnprocessedCause } from '../../types.js';
import { readChunkBlock, releaseBlock } from '../chunk/chunk-content.js';
import type { ReadPosition } from '../read-source.js';
import { type ChunkAnswers, unansweredError } from './chunk-answers.js';
import type { DoubleAnswers } from './double-answers.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { skippedRecords } from './skipped-records.js';
import type { AnsweredBlocks } from './whole-chunks.js';

/** The limits of a stretch. They are small, so that memory stays flat whatever share of the records is sent. */
const STRETCH = { records: 8_192, bytes: 2 * 1024 * 1024 };

interface ChosenStretchesOptions {
  /** The columns that the service adds, as the output has them. */
  readonly columns: readonly string[];
  /** The cause for records without an answer; without it they are an error. */
  readonly unanswered: UnprocessedCause | undefined;
  /** Set if some records take the answers of others. */
  readonly doubles: DoubleAnswers | undefined;
}

/** @param from the position of the first stretch. */
export function openChosenStretches(
  run: MergeChunksNeeds & { readonly chosen: ChosenAnswers },
  from: ReadPosition,
  records: BlockReader,
  chunkAnswers: ChunkAnswers,
  { columns, unanswered, doubles }: ChosenStretchesOptions,
): AnsweredBlocks {
  const lanes = run.chosen.reused(from.record, run.config.output.lineage);
  const reused = cursorOf(reusedPieces(lanes));
  const sent = cursorOf(sentPieces(run, from.record - 1, chunkAnswers, unanswered));

  /** The answers of the last stretch. */
  let answers: Answers | undefined;

  return {
    next: async (upTo) => {
      const block = await records.take(STRETCH.records, { maxBytes: STRETCH.bytes, upTo });
      if (block.count === 0) return undefined;
      const builder = createAnswerBuilder(block.numbers);
      if (block.blank.length > 0) builder.add(skippedRecords(block));
      // The tables of chunks come first, because they change least: what stays is not loaded into the kernel again.
      for (const cursor of [sent, reused]) {
        for await (const piece of cursor.upTo(block.numbers[block.count - 1]!)) builder.add(piece);
      }
      if (unanswered !== undefined) builder.addRest(unprocessedAnswers(1, unanswered, null));
      await doubles?.addTo(builder, block.numbers);
      const missing = builder.firstMissing();
      if (missing !== undefined) throw unansweredError(run.id, missing);
      answers = builder.answers();
      return { block, answers: splitColumns(answers, columns) };
    },
    release: () => {
      if (answers !== undefined) for (const array of [answers.source, answers.result]) giveBack(array);
      answers = undefined;
      for (const { answers } of sent.takeFinished()) chunkAnswers.release(answers);
      for (const lane of reused.takeFinished()) giveBackLane(lane);
      doubles?.release();
    },
    close: async () => {
      await lanes.return(undefined);
      await doubles?.close();
    },
  };
}

/** Gives the next piece of answers, if it begins at this record or before it. */
type TakePiece = (record: number) => Promise<NumberedAnswers | undefined>;

/** The answers of the chunks that end after a record. A chunk is joined only when it is answered and needed. */
function sentPieces(
  run: MergeChunksNeeds,
  after: number,
  answers: ChunkAnswers,
  unanswered: UnprocessedCause | undefined,
): TakePiece {
  let last = after;
  return async (record) => {
    for (;;) {
      // Read each time, because chunks are cut, split and answered meanwhile.
      const chunk = await run.checkpoint.nextChunk(run.id, 0, last);
      if (chunk === undefined || chunk.firstRecord > record) return undefined;
      last = chunk.lastRecord;
      if (unanswered !== undefined && !isAnswered(chunk)) continue;
      const block = await readChunkBlock(run, chunk);
      const piece = { numbers: block.numbers, answers: await answers.forChunk(chunk, block) };
      releaseBlock(block);
      return piece;
    }
  };
}

function reusedPieces(pieces: AsyncGenerator<NumberedAnswers>): TakePiece {
  let ahead: NumberedAnswers | undefined;
  return async (record) => {
    ahead ??= (await pieces.next()).value ?? undefined;
    if (ahead === undefined || ahead.numbers[0]! > record) return undefined;
    const piece = ahead;
    ahead = undefined;
    return piece;
  };
}

/** Walks over pieces in the order of the source. Gives a piece again while later records need it. */
interface Cursor {
  /** The pieces with records up to this one. */
  upTo(record: number): AsyncGenerator<NumberedAnswers>;
  /** Gives the pieces that were passed since the last call: later records do not need them. */
  takeFinished(): readonly NumberedAnswers[];
}

function cursorOf(take: TakePiece): Cursor {
  let current: NumberedAnswers | undefined;
  const finished: NumberedAnswers[] = [];
  return {
    upTo: async function* (record) {
      for (;;) {
        current ??= await take(record);
        if (current === undefined) return;
        yield current;
        if (current.numbers.at(-1)! > record) return;
        finished.push(current);
        current = undefined;
      }
    },
    takeFinished: () => finished.splice(0),
  };
}
