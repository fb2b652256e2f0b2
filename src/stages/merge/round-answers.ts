/**
 * The answers of closed rounds, in which failed records were sent once more. Invariant: at most one joined chunk of each
 * round is in memory, and the records of a round are read at most once.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, isAnswered } from '../../checkpoint/walk-run.js';
import type { Batch } from '../../csv/table.js';
import { OutageError } from '../../errors.js';
import { type Answers, type NumberedAnswers, overlay } from '../../results/answers.js';
import type { SentBlock } from '../../results/join-windows.js';
import { pickRecords } from '../../source/read-records.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import { readChunkBlock, releaseBlock } from '../chunk/chunk-content.js';
import { sentFieldsOf } from '../chunk/stream-chunk.js';
import { recordsFrom } from '../read-source.js';
import type { JoinChunk } from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';

interface RoundAnswers {
  /**
   * Replaces the answers of records that a round has answered again; a later round replaces an earlier one. Blocks must
   * come in the order of the source.
   * @throws OutageError when a chunk of a closed round is being fetched again and is not here yet.
   */
  addTo(answers: Answers, numbers: Int32Array): Promise<Answers>;
  close(): Promise<void>;
}

/** @param rounds the number of closed rounds. */
export function openRoundAnswers(run: MergeChunksNeeds, rounds: number, join: JoinChunk): RoundAnswers {
  const cursors = Array.from({ length: rounds }, (_, index) => ({
    chunks: answersOfRound(run, index + 1, join),
    current: undefined as NumberedAnswers | undefined,
  }));
  let failure: { readonly error: unknown } | undefined;
  const nextOf = async (chunks: (typeof cursors)[number]['chunks']) => {
    const next = await chunks.next().catch((error: unknown) => {
      failure = { error };
      throw error;
    });
    return next.value;
  };
  return {
    addTo: async (own, numbers) => {
      // After an error a round gives no more answers, so the records that it answered would be FAILED.
      if (failure !== undefined) throw failure.error;
      let answers = own;
      for (const cursor of cursors) {
        for (;;) {
          cursor.current ??= await nextOf(cursor.chunks);
          const { current } = cursor;
          if (current === undefined || current.numbers[0]! > numbers.at(-1)!) break;
          answers = overlay({ numbers, answers }, current);
          if (current.numbers.at(-1)! > numbers.at(-1)!) break;
          cursor.current = undefined;
        }
      }
      return answers;
    },
    close: async () => {
      for (const { chunks } of cursors) await chunks.return(undefined);
    },
  };
}

/** The answers of a round's chunks, in the order of the source. Chunks that are given up or refused have none. */
async function* answersOfRound(
  run: MergeChunksNeeds,
  round: number,
  join: JoinChunk,
): AsyncGenerator<NumberedAnswers, undefined> {
  const wanted: (readonly number[])[] = [];
  let first: ChunkRow | undefined;
  const records = createBlockReader(
    (async function* (): AsyncGenerator<Batch> {
      const batches = recordsFrom(run, { position: first!.start, record: first!.firstRecord });
      yield* pickRecords(batches, takeAll(wanted));
    })(),
  );
  const windows = async function* (count: number): AsyncGenerator<RecordBlock> {
    for (let left = count; left > 0; ) {
      const window = await records.take(left, { maxBytes: WINDOW_BYTES });
      if (window.count === 0) return;
      yield window;
      left -= window.count;
    }
  };
  const nextRecords = (
    chunk: ChunkRow,
    picked: readonly number[],
    numbers: Int32Array,
  ): Promise<SentBlock> => {
    first ??= chunk;
    wanted.push(picked);
    return sentFieldsOf(run, chunk, numbers, windows(chunk.records));
  };
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id, round)) {
      if (!isAnswered(chunk)) throw fetchedAnewError(run.id, chunk);
      if (chunk.state !== 'downloaded') continue;
      const picked = (await run.checkpoint.pickedRecords(run.id, chunk.number))!;
      const numbers = Int32Array.from(picked);
      let block: RecordBlock | undefined;
      const answers = await join(chunk, async () => {
        if (block !== undefined) return block;
        block = await (run.keepsChunks ? readChunkBlock(run, chunk) : nextRecords(chunk, picked, numbers));
        return block;
      });
      if (block !== undefined) releaseBlock(block);
      if (answers !== undefined) yield { numbers, answers };
    }
  } finally {
    await records.close();
  }
  return undefined;
}

/** The most bytes of the source that are held at once. */
const WINDOW_BYTES = 1024 * 1024;

/** Takes items from the front of a list until it is empty. Items may be added meanwhile. */
function* takeAll<T>(list: T[]): Generator<T> {
  for (let next = list.shift(); next !== undefined; next = list.shift()) yield next;
}

function fetchedAnewError(run: string, { number, round }: ChunkRow): OutageError {
  return new OutageError(
    'ANSWERS_FETCHED_ANEW',
    `run ${run}: the results of chunk ${number}, of round ${round}, are being fetched again and are not here yet`,
    { hint: 'run the same command again: nothing is paid again', facts: { run, chunk: number, round } },
  );
}
