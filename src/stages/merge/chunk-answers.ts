/**
 * The answers that count for the source's chunks: those of the chunk itself; for records that failed, those of the
 * closed rounds; for records that are failed even then, those of single searches. Invariant: of each round one joined
 * chunk is in memory, and its records are read at most once.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { chunksInOrder, eachSearch, isAnswered } from '../../checkpoint/walk-run.js';
import type { Batch } from '../../csv/batch.js';
import { OutageError } from '../../errors.js';
import { type Answers, mayHaveFailures, type NumberedAnswers, overlay } from '../../results/answers.js';
import { type AnsweredSearch, searchAnswers } from '../../results/search-answers.js';
import { pickRecords } from '../../source/pick-records.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import { giveBack } from '../../streams/buffer-pool.js';
import { errorOfChunk } from '../download/repair-parts.js';
import { checkBlock, recordsFrom } from '../read-source.js';
import {
  type ChunkJoiner,
  type ChunkJoinerOptions,
  checkIndistinct,
  createChunkJoiner,
} from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';

export interface ChunkAnswers {
  /**
   * The answers for a `downloaded` or `refused` chunk. Calls must come in the source's order.
   * @returns undefined where there are none: the folio is lost, or no search has answered for the refused record.
   * @throws UntrustedError when the proof fails; OutageError when results must be fetched anew and cannot be.
   */
  of(chunk: ChunkRow, block: RecordBlock): Promise<Answers | undefined>;
  /** Returns the buffers of the last answers to the pool: they must not be used after this. */
  release(): void;
  close(): Promise<void>;
}

export async function openChunkAnswers(
  run: MergeChunksNeeds,
  options: ChunkJoinerOptions,
): Promise<ChunkAnswers> {
  // Read once: the run's row grows with the files of the source.
  const { round } = (await run.checkpoint.run(run.id))!;
  const joiner = createChunkJoiner(run, options);
  const rounds = openRoundAnswers(run, round, joiner);
  let own: Answers | undefined;
  return {
    of: async (chunk, block) => {
      if (chunk.state === 'refused') return (await searched(run, chunk))?.answers;
      const answers = await joiner.join(chunk, () => Promise.resolve(block));
      own = answers;
      if (answers === undefined || !mayHaveFailures(answers)) return answers;
      const { numbers } = block;
      const retried = await rounds.addTo(answers, numbers);
      if (retried !== answers && run.config.result.echo === null) {
        await checkIndistinct(run, retried, block).catch((error: unknown) => {
          throw errorOfChunk(chunk, error);
        });
      }
      const found = await searched(run, chunk);
      return found === undefined ? retried : overlay({ numbers, answers: retried }, found);
    },
    // Those of a round are kept: the next chunk may need them.
    release: () => {
      for (const { table } of own?.sources ?? []) {
        giveBack(table.bytes);
        giveBack(table.ends);
      }
      own = undefined;
    },
    close: () => rounds.close(),
  };
}

/** What searches have found for records of a chunk, if anything. */
async function searched(
  run: Pick<MergeChunksNeeds, 'id' | 'checkpoint'>,
  { firstRecord, lastRecord }: ChunkRow,
): Promise<NumberedAnswers | undefined> {
  const answered: AnsweredSearch[] = [];
  for await (const { record, values } of eachSearch(run.checkpoint, run.id, firstRecord, lastRecord)) {
    if (values !== null) answered.push({ record, values });
  }
  return answered.length === 0 ? undefined : searchAnswers(answered);
}

interface RoundAnswers {
  /**
   * The answers, replaced where a round has answered the record again; a later round replaces an earlier one. Calls
   * must come in the source's order.
   * @throws OutageError when a chunk of a closed round is being fetched anew.
   */
  addTo(answers: Answers, numbers: Int32Array): Promise<Answers>;
  close(): Promise<void>;
}

/** @param rounds how many are closed. */
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

/** The chunks of a round that have answers, in the source's order; given up and refused chunks have none. */
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
  try {
    for await (const chunk of chunksInOrder(run.checkpoint, run.id, round)) {
      if (!isAnswered(chunk)) throw fetchedAnewError(run.id, chunk);
      if (chunk.state !== 'downloaded') continue;
      const picked = (await run.checkpoint.pickedRecords(run.id, chunk.number))!;
      const numbers = Int32Array.from(picked);
      let block: RecordBlock | undefined;
      const answers = await joiner.join(chunk, async () => {
        if (block !== undefined) return block;
        first ??= chunk;
        wanted.push(picked);
        block = await records.take(chunk.records);
        checkBlock(run, chunk, block);
        return block;
      });
      if (answers !== undefined) yield { numbers, answers };
    }
  } finally {
    await records.close();
  }
  return undefined;
}

/** Ends when the list is empty. What is added while it is read is given too. */
function* takeAll<T>(list: T[]): Generator<T> {
  for (let next = list.shift(); next !== undefined; next = list.shift()) yield next;
}

function fetchedAnewError(run: string, { number, round }: ChunkRow): OutageError {
  return new OutageError(
    'ANSWERS_FETCHED_ANEW',
    `run ${run}: the results of chunk ${number}, of round ${round}, are fetched anew and not here yet`,
    { hint: 'run the same command again: nothing is paid again', facts: { run, chunk: number, round } },
  );
}
