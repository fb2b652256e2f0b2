/**
 * The answers that count for the chunks of the source. A failed record takes its answer from the closed rounds; if it
 * failed there too, from its single search. Invariant: at most one joined chunk of each round is in memory, and the
 * records of a round are read at most once.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachSearch, isAnswered } from '../../checkpoint/walk-run.js';
import type { Batch } from '../../csv/table.js';
import { OutageError, UntrustedError } from '../../errors.js';
import {
  type AnswerSource,
  type Answers,
  mayHaveFailures,
  type NumberedAnswers,
  overlay,
  refusedAnswers,
  unprocessedAnswers,
} from '../../results/answers.js';
import type { SentBlock } from '../../results/join-windows.js';
import { type AnsweredSearch, searchAnswers } from '../../results/search-answers.js';
import { pickRecords } from '../../source/read-records.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import { freeMemory } from '../../streams/buffer-pool.js';
import { readChunkBlock, releaseBlock } from '../chunk/read-chunk.js';
import { sentFieldsOf } from '../chunk/stream-chunk.js';
import { errorOfChunk } from '../download/repair-parts.js';
import { recordsFrom } from '../read-source.js';
import {
  type ChunkJoiner,
  type ChunkJoinerOptions,
  type ChunkRecords,
  checkIndistinct,
  createChunkJoiner,
  releaseTable,
} from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';

export interface ChunkAnswers {
  /**
   * The answers for the records of a chunk that is downloaded, given up or refused. Chunks must be asked for in the
   * order of the source. The answers are valid until they are released.
   * @param records of the chunk, see `readChunkBlock` and `streamChunk`.
   * @throws UntrustedError when the proof fails; OutageError when results must be fetched again and cannot be.
   */
  forChunk(chunk: ChunkRow, records: ChunkRecords): Promise<Answers>;
  /** Frees the memory of these answers. */
  release(answers: Answers): void;
  close(): Promise<void>;
}

export async function openChunkAnswers(
  run: MergeChunksNeeds,
  options: ChunkJoinerOptions,
): Promise<ChunkAnswers> {
  // Read once, because the row of a run grows with the number of source files.
  const { round } = (await run.checkpoint.run(run.id))!;
  const joiner = createChunkJoiner(run, options);
  const rounds = openRoundAnswers(run, round, joiner);
  /** The sources that belong to one chunk only. The answers of rounds are kept, because the next chunk may need them. */
  const own = new Set<AnswerSource>();

  const withLaterAnswers = async (
    chunk: ChunkRow,
    answers: Answers,
    numbers: Int32Array,
  ): Promise<Answers> => {
    const retried = await rounds.addTo(answers, numbers);
    if (retried !== answers && run.config.result.echo === null) {
      await checkIndistinct(run, retried, { count: chunk.records }).catch((error: unknown) => {
        throw errorOfChunk(chunk, error);
      });
    }
    const found = await findSearchAnswers(run, chunk);
    return found === undefined ? retried : overlay({ numbers, answers: retried }, found);
  };

  return {
    forChunk: async (chunk, records) => {
      const { numbers } = records;
      const { length: count } = numbers;
      if (chunk.state === 'unprocessed') return unprocessedAnswers(count, chunk.cause!, chunk.folio);
      if (chunk.state === 'refused') {
        const refused = refusedAnswers(count, chunk.refusal!);
        const found = await findSearchAnswers(run, chunk);
        return found === undefined ? refused : overlay({ numbers, answers: refused }, found);
      }
      const joined = await joiner.join(chunk, () => Promise.resolve(records));
      if (joined === undefined) return unprocessedAnswers(count, 'FOLIO_LOST', chunk.folio);
      for (const source of joined.sources) own.add(source);
      return mayHaveFailures(joined) ? withLaterAnswers(chunk, joined, numbers) : joined;
    },
    release: ({ sources, source, result }) => {
      for (const array of [source, result]) freeMemory(array);
      for (const one of sources) {
        if (own.delete(one)) releaseTable(one);
      }
    },
    close: () => rounds.close(),
  };
}

/** The answers of single searches for records of a chunk, if there are any. */
async function findSearchAnswers(
  run: Pick<MergeChunksNeeds, 'id' | 'checkpoint'>,
  { firstRecord, lastRecord }: ChunkRow,
): Promise<NumberedAnswers | undefined> {
  const answered: AnsweredSearch[] = [];
  for await (const { record, values, startedAt } of eachSearch(
    run.checkpoint,
    run.id,
    firstRecord,
    lastRecord,
  )) {
    if (values !== null) answered.push({ record, values, startedAt });
  }
  return answered.length === 0 ? undefined : searchAnswers(answered);
}

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
function openRoundAnswers(run: MergeChunksNeeds, rounds: number, joiner: ChunkJoiner): RoundAnswers {
  const cursors = Array.from({ length: rounds }, (_, index) => ({
    chunks: answersOfRound(run, index + 1, joiner),
    current: undefined as NumberedAnswers | undefined,
  }));
  return {
    addTo: async (own, numbers) => {
      let answers = own;
      for (const cursor of cursors) {
        for (;;) {
          cursor.current ??= (await cursor.chunks.next()).value ?? undefined;
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
  joiner: ChunkJoiner,
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
      const answers = await joiner.join(chunk, async () => {
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

/** Most bytes of the source that are held at once. */
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

/** The error for a record that must have an answer and has none. */
export function unansweredError(run: string, record: number): UntrustedError {
  return new UntrustedError(
    'RECORD_UNANSWERED',
    `run ${run}: record ${record} has neither a reused answer nor one of a chunk`,
    {
      hint: 'nothing is published; this is a fault of foliopipe, please report it with the state folder',
      facts: { run, record },
    },
  );
}
