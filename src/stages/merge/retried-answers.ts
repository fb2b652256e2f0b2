/**
 * The answers that failed records have got in settled rounds, laid over the older ones while the source's chunks
 * pass in order. Invariant: of each round one joined chunk is in memory, and its records are read at most once.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { isAnswered } from '../../checkpoint/walk-run.js';
import type { Batch } from '../../csv/batch.js';
import { OutageError } from '../../errors.js';
import { type Answers, type NumberedAnswers, overlay } from '../../results/answers.js';
import type { RunContext } from '../../run-context.js';
import { pickRecords } from '../../source/pick-records.js';
import { createBlockReader, type RecordBlock } from '../../source/record-block.js';
import { checkBlock, recordsFrom } from '../read-source.js';
import type { ChunkJoiner } from './join-chunk.js';

export type RetriedAnswersNeeds = Pick<RunContext, 'id' | 'source' | 'config' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'nextChunk' | 'pickedRecords'>;
};

export interface RetriedAnswers {
  /**
   * The answers with those of the rounds laid over, the first round first. Calls must come in the source's order.
   * @throws OutageError when a chunk of a settled round is being fetched anew.
   */
  overlay(answers: Answers, numbers: Int32Array): Promise<Answers>;
  close(): Promise<void>;
}

/** @param rounds how many are settled. */
export function openRetriedAnswers(
  run: RetriedAnswersNeeds,
  rounds: number,
  joiner: ChunkJoiner,
): RetriedAnswers {
  const cursors = Array.from({ length: rounds }, (_, at) => ({
    chunks: answersOfRound(run, at + 1, joiner),
    current: undefined as NumberedAnswers | undefined,
  }));
  return {
    overlay: async (answers, numbers) => {
      let standing = answers;
      for (const cursor of cursors) {
        for (;;) {
          cursor.current ??= (await cursor.chunks.next()).value ?? undefined;
          const { current } = cursor;
          if (current === undefined || current.numbers[0]! > numbers.at(-1)!) break;
          standing = overlay({ numbers, answers: standing }, current);
          if (current.numbers.at(-1)! > numbers.at(-1)!) break;
          cursor.current = undefined;
        }
      }
      return standing;
    },
    close: async () => {
      for (const { chunks } of cursors) await chunks.return(undefined);
    },
  };
}

/** The chunks of a round, in the source's order, that have answers; one that was given up or refused has none. */
async function* answersOfRound(
  run: RetriedAnswersNeeds,
  round: number,
  joiner: ChunkJoiner,
): AsyncGenerator<NumberedAnswers, undefined> {
  const waiting: (readonly number[])[] = [];
  let first: ChunkRow | undefined;
  const records = createBlockReader(
    (async function* (): AsyncGenerator<Batch> {
      const batches = recordsFrom(run, { position: first!.start, record: first!.firstRecord });
      yield* pickRecords(batches, takeAll(waiting));
    })(),
  );
  try {
    let chunk = await run.checkpoint.nextChunk(run.id, round, 0);
    for (; chunk !== undefined; chunk = await run.checkpoint.nextChunk(run.id, round, chunk.lastRecord)) {
      if (!isAnswered(chunk)) throw fetchedAnew(run.id, chunk);
      if (chunk.state !== 'downloaded') continue;
      const picked = (await run.checkpoint.pickedRecords(run.id, chunk.number))!;
      const numbers = Int32Array.from(picked);
      const retried = chunk;
      let block: RecordBlock | undefined;
      const answers = await joiner.join(chunk, async () => {
        if (block !== undefined) return block;
        first ??= retried;
        waiting.push(picked);
        block = await records.take(retried.records);
        checkBlock(run, retried, block);
        return block;
      });
      if (answers !== undefined) yield { numbers, answers };
    }
  } finally {
    await records.close();
  }
  return undefined;
}

/** Ends when nothing waits; what is asked for later may wait by then. */
function* takeAll<T>(waiting: T[]): Generator<T> {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
}

function fetchedAnew(run: string, { number, round }: ChunkRow): OutageError {
  return new OutageError(
    'ANSWERS_FETCHED_ANEW',
    `run ${run}: the results of chunk ${number}, of round ${round}, are fetched anew and not here yet`,
    { hint: 'run the same command again: nothing is paid again', facts: { run, chunk: number, round } },
  );
}
