/**
 * The answers that stand for the source's chunks: those of the chunk itself, over failed ones those of the settled
 * rounds, and over what is still failed those of single searches.
 */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachSearch } from '../../checkpoint/walk-run.js';
import { type Answers, hasFailed, type NumberedAnswers, overlay } from '../../results/answers.js';
import { type AnsweredSearch, searchAnswers } from '../../results/search-answers.js';
import type { RecordBlock } from '../../source/record-block.js';
import { giveBack } from '../../streams/buffer-pool.js';
import { namedByChunk } from '../download/with-healing.js';
import {
  type ChunkJoinerNeeds,
  type ChunkJoinerOptions,
  checkIndistinct,
  createChunkJoiner,
} from './join-chunk.js';
import { openRetriedAnswers, type RetriedAnswersNeeds } from './retried-answers.js';

export type ChunkAnswersNeeds = ChunkJoinerNeeds &
  RetriedAnswersNeeds & { readonly checkpoint: Pick<Checkpoint, 'run' | 'searches'> };

export interface ChunkAnswers {
  /**
   * Of a `downloaded` or `refused` chunk; chunks must come in the source's order.
   * @returns undefined where there is none: the folio is lost, or no search has answered for the refused record.
   * @throws UntrustedError when the proof fails; OutageError when results must be fetched anew and cannot be.
   */
  of(chunk: ChunkRow, block: RecordBlock): Promise<Answers | undefined>;
  /** Leaves the memory of the answers that were given last to others: they are not used after this. */
  release(): void;
  close(): Promise<void>;
}

export async function openChunkAnswers(
  run: ChunkAnswersNeeds,
  options: ChunkJoinerOptions,
): Promise<ChunkAnswers> {
  // Read once: the run's row grows with the files of the source.
  const { round } = (await run.checkpoint.run(run.id))!;
  const joiner = createChunkJoiner(run, options);
  const retried = openRetriedAnswers(run, round, joiner);
  let own: Answers | undefined;
  return {
    of: async (chunk, block) => {
      if (chunk.state === 'refused') return (await searched(run, chunk))?.answers;
      const answers = await joiner.join(chunk, () => Promise.resolve(block));
      own = answers;
      if (answers === undefined || !hasFailed(answers)) return answers;
      const { numbers } = block;
      const later = await retried.overlay(answers, numbers);
      if (later !== answers && run.config.result.echo === null) {
        await checkIndistinct(run, later, block).catch((error: unknown) => {
          throw namedByChunk(chunk, error);
        });
      }
      const found = await searched(run, chunk);
      return found === undefined ? later : overlay({ numbers, answers: later }, found);
    },
    // Those of a round may be wanted for the next chunk.
    release: () => {
      for (const { table } of own?.sources ?? []) {
        giveBack(table.bytes);
        giveBack(table.ends);
      }
      own = undefined;
    },
    close: () => retried.close(),
  };
}

/** What searches gave for records of a chunk, if anything. */
async function searched(
  run: Pick<ChunkAnswersNeeds, 'id' | 'checkpoint'>,
  { firstRecord, lastRecord }: ChunkRow,
): Promise<NumberedAnswers | undefined> {
  const answered: AnsweredSearch[] = [];
  for await (const { record, values } of eachSearch(run.checkpoint, run.id, firstRecord, lastRecord)) {
    if (values !== null) answered.push({ record, values });
  }
  return answered.length === 0 ? undefined : searchAnswers(answered);
}
