/**
 * The answers that count for the chunks of the source. A failed record takes its answer from the closed rounds
 * (`round-answers.ts`); if it failed there too, from its single search.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachSearch } from '../../checkpoint/walk-run.js';
import { UntrustedError } from '../../errors.js';
import {
  type AnswerSource,
  type Answers,
  mayHaveFailures,
  type NumberedAnswers,
  overlay,
  refusedAnswers,
  unprocessedAnswers,
} from '../../results/answers.js';
import { type AnsweredSearch, searchAnswers } from '../../results/search-answers.js';
import { errorOfChunk } from '../download/repair-parts.js';
import {
  type ChunkJoinerOptions,
  type ChunkRecords,
  checkIndistinct,
  createChunkJoiner,
  releaseAnswers,
} from './join-chunk.js';
import type { MergeChunksNeeds } from './merge-needs.js';
import { openRoundAnswers } from './round-answers.js';

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
  const join = createChunkJoiner(run, options);
  const rounds = round === 0 ? undefined : openRoundAnswers(run, round, join);
  /** The sources that belong to one chunk only. The answers of rounds are kept, because the next chunk may need them. */
  const own = new Set<AnswerSource>();

  const withLaterAnswers = async (
    chunk: ChunkRow,
    answers: Answers,
    numbers: Int32Array,
  ): Promise<Answers> => {
    const retried = (await rounds?.addTo(answers, numbers)) ?? answers;
    if (retried !== answers && run.config.result.echo === null) {
      await checkIndistinct(run, retried, chunk).catch((error: unknown) => {
        throw errorOfChunk(run.id, chunk, error);
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
      const joined = await join(chunk, () => Promise.resolve(records));
      if (joined === undefined) return unprocessedAnswers(count, 'FOLIO_LOST', chunk.folio);
      for (const source of joined.sources) own.add(source);
      return mayHaveFailures(joined) ? withLaterAnswers(chunk, joined, numbers) : joined;
    },
    release: (answers) => releaseAnswers(answers, (source) => own.delete(source)),
    close: async () => rounds?.close(),
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

/** The error for a record that must have an answer and has none. */
export function unansweredError(run: string, record: number): UntrustedError {
  return new UntrustedError(
    'RECORD_UNANSWERED',
    `run ${run}: record ${record} has neither a reused answer nor one of a chunk`,
    {
      hint: 'nothing is published; this is a bug in foliopipe: please report it, with the state folder',
      facts: { run, record },
    },
  );
}
