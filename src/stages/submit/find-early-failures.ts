/**
 * The guard that stops the uploads when too many records of the first chunks failed, before more is paid for. Records
 * that were asked before, on another night, do not count: many of them may be failures that are asked again.
 */
import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk } from '../../checkpoint/walk-run.js';
import { GuardError } from '../../errors.js';
import { newRunCommandFor } from '../../report/adoptable.js';
import { failureText, isTolerated, raiseToleranceHint } from '../../report/exit-code.js';
import type { ChosenAnswers } from '../../reuse/answer-store.js';
import type { SubmitChunksNeeds } from './submission.js';

/**
 * Looks at the finished chunks with the lowest numbers, up to the size of three full chunks. The half of a split chunk
 * counts by its size; less than one full chunk decides nothing. Refused records cost nothing and do not count. Chunks
 * of rounds do not count either. Of a chunk with records that were asked before, only as many failures count as exceed
 * the number of these records.
 * @returns the error with which the run must end; undefined if uploads may go on.
 */
export async function findEarlyFailures(run: SubmitChunksNeeds): Promise<GuardError | undefined> {
  const { tolerate } = run.config.failures;
  const isBad = ({ fullChunks, records, failed }: FirstChunks) =>
    fullChunks >= 1 && !isTolerated(failed, records, tolerate);
  if (!isBad(await firstChunks(run, async () => 0))) return undefined;
  const askedIn = async ({ firstRecord, lastRecord }: ChunkRow) =>
    (await askedBefore(run.chosen, firstRecord, lastRecord)).size;
  const first = await firstChunks(run, askedIn);
  if (!isBad(first)) return undefined;
  const { records, failed } = first;
  const newRun = await newRunCommandFor(run.checkpoint, run.id);
  return new GuardError(
    'FAILURE_RATE',
    `run ${run.id}: of the first chunks, ${failureText(failed, records, tolerate)}: nothing more is uploaded`,
    {
      hint: raiseToleranceHint(run.id, failed, records, newRun),
      facts: { run: run.id, failed, records, tolerate },
    },
  );
}

interface FirstChunks {
  /** How many full chunks the records would make. */
  readonly fullChunks: number;
  readonly records: number;
  readonly failed: number;
}

/** @param askedIn how many records of a chunk were asked before. */
async function firstChunks(
  run: SubmitChunksNeeds,
  askedIn: (chunk: ChunkRow) => Promise<number>,
): Promise<FirstChunks> {
  const first = { fullChunks: 0, records: 0, failed: 0 };
  let looked = 0;
  for await (const chunk of eachChunk(run.checkpoint, run.id, ['finished', 'downloaded'], maxChunks)) {
    if (chunk.round > 0) continue;
    const share = shareOfFullChunk(chunk, run.config.chunks);
    const asked = await askedIn(chunk);
    looked += share;
    first.fullChunks += share * (1 - asked / chunk.records);
    first.records += chunk.records - asked;
    first.failed += Math.max(0, chunk.counts!.failed - asked);
    if (looked >= maxChunks) break;
  }
  return first;
}

const maxChunks = 3;

/**
 * The numbers of records that are sent although the service has answered the same fields before: the answer is too old,
 * or of another epoch.
 * @param first, last the smallest and the largest number that is looked for.
 */
export async function askedBefore(
  chosen: ChosenAnswers | null,
  first: number,
  last: number,
): Promise<ReadonlySet<number>> {
  const found = new Set<number>();
  for await (const { numbers } of chosen?.outdated(first) ?? []) {
    for (const number of numbers) if (number >= first && number <= last) found.add(number);
    if (numbers.at(-1)! >= last) break;
  }
  return found;
}

/** The size of a chunk as a share of a full one; 1 if it was cut because it was full, by records or by bytes. */
function shareOfFullChunk(
  { records, bytes }: ChunkRow,
  limits: { readonly maxRecords: number; readonly maxBytes: number },
): number {
  const share = Math.max(records / limits.maxRecords, bytes / limits.maxBytes);
  // A chunk that was cut by bytes is slightly less than full. A half of it has about half of the bytes.
  return share > 0.5 ? 1 : share;
}
