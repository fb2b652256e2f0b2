/** Acts on the refusal of a chunk: its halves take its place, its only record is given up, or the run stops. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { RefusedError } from '../../errors.js';
import type { RunContext } from '../../run-context.js';
import { type SplitChunkNeeds, splitChunk } from './split-chunk.js';

export type RefusedChunkNeeds = SplitChunkNeeds &
  Pick<RunContext, 'logger'> & {
    readonly checkpoint: Pick<Checkpoint, 'tally' | 'recordRefused'>;
  };

/**
 * @param oneEnds waits until another upload, which may yet be accepted, has ended; false where there is none.
 * @returns the chunks that take its place: its halves, or itself, `refused`.
 * @throws the refusal where it stands, with the chunk in it; SourceError as `splitChunk` does.
 */
export async function settleRefused(
  run: RefusedChunkNeeds,
  chunk: ChunkRow,
  error: RefusedError,
  oneEnds: () => Promise<boolean>,
): Promise<readonly ChunkRow[]> {
  const { maxSplits } = run.config.failures;
  const judge = async () => {
    const { uploads, chunks } = await run.checkpoint.tally(run.id);
    const known = { records: chunk.records, accepted: uploads.accepted, splits: chunks.split };
    return judgeRefusal({ status: error.facts.status, ...known }, maxSplits);
  };
  let verdict = await judge();
  while (verdict === 'nothing-accepted' && (await oneEnds())) verdict = await judge();
  const { number, records, firstRecord } = chunk;
  if (verdict === 'split') {
    const halves = await splitChunk(run, chunk);
    run.logger.info(
      { chunk: number, status: error.facts.status ?? null, halves: halves.map((half) => half.number) },
      `chunk ${number}: ${error.message}; its ${records} records are sent in two halves, as chunks ${halves.map((half) => half.number).join(' and ')}`,
    );
    return halves;
  }
  if (verdict === 'give-up') {
    await run.files.removeChunk(number);
    const refused = await run.checkpoint.recordRefused(run.id, number, wordsOf(error));
    run.logger.warn(
      { chunk: number, record: firstRecord, status: error.facts.status ?? null },
      `record ${firstRecord}: ${error.message}; it is FAILED, and the others go on`,
    );
    return [refused];
  }
  throw verdict === 'final' ? error : namedRefusal(chunk, error, hints[verdict]);
}

const hints: Readonly<Record<'nothing-accepted' | 'too-many', string>> = {
  'nothing-accepted':
    'nothing of this run was accepted so far, so no single record is suspected: check upload.columns and what the service wants, then run the same command again',
  'too-many':
    'as many chunks were split as failures.maxSplits allows: raise it to go on looking for the records that are refused',
};

/** What the service said, without our own words around it; what it said may be nothing. */
function wordsOf({ facts, message }: RefusedError): string {
  const { said } = facts;
  return (typeof said === 'string' && said !== '' ? said : message).slice(0, refusalAtMost);
}

/** Characters kept of what the service says of a record. */
const refusalAtMost = 500;

function namedRefusal(chunk: ChunkRow, error: RefusedError, hint: string): RefusedError {
  const { number, firstRecord, lastRecord, records } = chunk;
  return new RefusedError(
    error.code,
    `chunk ${number} (${records} records, ${firstRecord} to ${lastRecord}): ${error.message}`,
    { hint, facts: { ...error.facts, chunk: number, firstRecord, lastRecord }, cause: error },
  );
}

// * What a refusal of a chunk means: it is halved until the records that the service will not have stand alone.
// Invariant: nothing is held against single records before the service has accepted anything of the run, for
// until then it may refuse whatever we send.

/** What is known when a refusal is judged. */
export interface Refusal {
  /** HTTP status of the refusing reply. */
  readonly status: unknown;
  /** Records of the refused chunk. */
  readonly records: number;
  /** Uploads of the run that were accepted. */
  readonly accepted: number;
  /** Chunks of the run that were split. */
  readonly splits: number;
}

/** `nothing-accepted`, `too-many` and `final` stop the run. */
export type Verdict = 'split' | 'give-up' | 'nothing-accepted' | 'too-many' | 'final';

/**
 * A file that is too large (413) is split however often that takes; its splits count for the others. What may
 * lie in a record (400, 422) is searched for in `maxSplits` splits of a run.
 */
export function judgeRefusal({ status, records, accepted, splits }: Refusal, maxSplits: number): Verdict {
  const tooLarge = status === 413;
  if (!tooLarge && status !== 400 && status !== 422) return 'final';
  if (tooLarge && records > 1) return 'split';
  if (accepted === 0) return 'nothing-accepted';
  if (records === 1) return 'give-up';
  return splits < maxSplits ? 'split' : 'too-many';
}
