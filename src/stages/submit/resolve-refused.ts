/**
 * Decides about a chunk that the service refuses: it is split in two, or its only record is given up, or the run stops.
 * Splitting goes on until each refused record is alone in a chunk. Invariant: no record is given up before the service
 * has accepted an upload of the run, or has answered records that the run reuses: until then the service may be refusing
 * everything.
 */
import type { ChunkRow, NewChunk } from '../../checkpoint/checkpoint.js';
import { RefusedError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { cutAgain } from '../chunk/chunk-content.js';
import { sourceChanged, watchFiles } from '../read-source.js';
import type { SubmitChunksNeeds } from './submission.js';

/**
 * @param anyUploadEnds waits until another upload has ended, which may have been accepted; false if none is in flight.
 * @returns the chunks that replace it: its two halves, or itself, `refused`.
 * @throws RefusedError, with the chunk in its facts, if the run stops; SourceError when the source has changed.
 */
export async function resolveRefused(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  error: RefusedError,
  anyUploadEnds: () => Promise<boolean>,
): Promise<readonly ChunkRow[]> {
  const { choice } = (await run.checkpoint.run(run.id))!;
  const reused = choice === null ? 0 : choice.reused.successful + choice.reused.failed;
  let ambiguous = 0;
  const decide = async () => {
    const { uploads, chunks } = await run.checkpoint.tally(run.id);
    const { status } = error.facts;
    const { accepted } = uploads;
    ambiguous = uploads.ambiguous;
    const known = { status, records: chunk.records, accepted, reused, splits: chunks.split };
    return decideRefusal(known, run.config.failures.maxSplits);
  };
  let decision = await decide();
  while (decision === 'nothing-accepted' && (await anyUploadEnds())) decision = await decide();
  if (decision === 'split') return split(run, chunk, error);
  if (decision === 'give-up') return [await giveUp(run, chunk, error)];
  throw decision === 'final' ? error : withChunk(chunk, error, hintOf(decision, ambiguous));
}

/** The facts on which a refusal is decided. */
interface Refusal {
  /** HTTP status of the refusing reply. */
  readonly status: unknown;
  /** Records of the refused chunk. */
  readonly records: number;
  /** Uploads of the run that were accepted. */
  readonly accepted: number;
  /** Records of the run with an earlier answer of the same service for the same sent columns. */
  readonly reused: number;
  /** Chunks of the run that were split. */
  readonly splits: number;
}

/** `nothing-accepted`, `too-many` and `final` stop the run. */
export type RefusalDecision = 'split' | 'give-up' | 'nothing-accepted' | 'too-many' | 'final';

/**
 * A file that is too large (413) is split as often as needed. After a 400 or 422 a single record may be the cause: it
 * is searched for with at most `maxSplits` splits in a run. Splits because of size count towards this limit.
 */
export function decideRefusal(
  { status, records, accepted, reused, splits }: Refusal,
  maxSplits: number,
): RefusalDecision {
  const tooLarge = status === 413;
  if (!tooLarge && status !== 400 && status !== 422) return 'final';
  if (tooLarge && records > 1) return 'split';
  if (accepted === 0 && reused === 0) return 'nothing-accepted';
  if (records === 1) return 'give-up';
  return splits < maxSplits ? 'split' : 'too-many';
}

async function split(
  run: SubmitChunksNeeds,
  chunk: ChunkRow,
  { message, facts }: RefusedError,
): Promise<readonly ChunkRow[]> {
  const halves = await splitChunk(run, chunk);
  const numbers = halves.map(({ number }) => number);
  run.logger.info(
    { chunk: chunk.number, status: facts.status ?? null, halves: numbers },
    `chunk ${chunk.number}: ${message}; its ${chunk.records} records are sent in two halves, as chunks ${numbers.join(' and ')}`,
  );
  return halves;
}

async function giveUp(
  run: SubmitChunksNeeds,
  { number, firstRecord }: ChunkRow,
  error: RefusedError,
): Promise<ChunkRow> {
  await run.files.removeChunk(number);
  const refused = await run.checkpoint.recordRefused(run.id, number, reasonOf(error));
  run.logger.warn(
    { chunk: number, record: firstRecord, status: error.facts.status ?? null },
    `record ${firstRecord}: ${error.message}; it is FAILED, and the others go on`,
  );
  return refused;
}

/** The service's text, or our message if the reply has none. */
function reasonOf({ facts, message }: RefusedError): string {
  const { said } = facts;
  return (typeof said === 'string' && said !== '' ? said : message).slice(0, maxReasonLength);
}

const maxReasonLength = 500;

function withChunk(chunk: ChunkRow, error: RefusedError, hint: string): RefusedError {
  const { number, firstRecord, lastRecord, records } = chunk;
  return new RefusedError(
    error.code,
    `chunk ${number} (${countOf(records, 'record')}, ${firstRecord} to ${lastRecord}): ${error.message}`,
    { hint, facts: { ...error.facts, chunk: number, firstRecord, lastRecord }, cause: error },
  );
}

/** @param ambiguous uploads of the run that may have been accepted: `--new` asks before it gives them up. */
function hintOf(decision: 'nothing-accepted' | 'too-many', ambiguous: number): string {
  if (decision === 'too-many')
    return 'as many chunks were split as failures.maxSplits allows: raise it to go on looking for the records that are refused';
  const [known, givesUp] =
    ambiguous === 0
      ? ['was accepted so far', 'gives up nothing']
      : ['is known to be accepted', 'says what it would give up'];
  return `nothing of this run ${known}, so no single record is suspected: check upload.columns and what the service wants; with other upload.columns begin anew with foliopipe run --new, which ${givesUp}; else run the same command again`;
}

/**
 * Splits a refused chunk into two halves. Each half has the same bytes as if its records were cut from the source.
 * @param chunk has several records and was certainly not accepted.
 * @returns its halves, `cut`, in the order of the source.
 * @throws SourceError when the source has changed since it was checked.
 */
export async function splitChunk(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<readonly ChunkRow[]> {
  const isTouched = watchFiles(run);
  const [first, second] = await cutHalves(run, chunk);
  // A file that was touched may have held something else while it was read.
  if (await isTouched(chunk.start, chunk.end)) return splitChunk(run, chunk);
  if (first === undefined || second === undefined) {
    throw sourceChanged(run.source.files[chunk.start.file]!.path, `chunk ${chunk.number} has lost records`);
  }
  // A kill must leave no file without a row: the old file is removed before the commit, and the files of the halves are
  // written after it. If a kill leaves a half without its file, the file is restored before the upload.
  await run.files.removeChunk(chunk.number);
  const halves = await run.checkpoint.recordSplit(run.id, chunk.number, [first.chunk, second.chunk]);
  run.at('after-split-before-upload');
  for (const [index, { content }] of [first, second].entries()) {
    const { number, sha256 } = halves[index]!;
    await run.files.writeChunk(number, [content], sha256);
  }
  return halves;
}

interface Half {
  readonly chunk: NewChunk;
  readonly content: Uint8Array;
}

async function cutHalves(run: SubmitChunksNeeds, chunk: ChunkRow): Promise<Half[]> {
  const numbers = await run.checkpoint.pickedRecords(run.id, chunk.number);
  const halves: Half[] = [];
  for await (const { chunk: half, content } of cutAgain(run, chunk, Math.ceil(chunk.records / 2))) {
    const isInHalf = (record: number) => record >= half.firstRecord && record <= half.lastRecord;
    const picked = numbers === undefined ? null : { round: chunk.round, numbers: numbers.filter(isInHalf) };
    halves.push({ chunk: { ...half, picked }, content: Buffer.from(content) });
  }
  return halves;
}
