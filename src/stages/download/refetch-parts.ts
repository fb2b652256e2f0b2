/**
 * Fetches parts of a chunk once more, beside the stored ones; `repair-parts.ts` decides when. Invariant: the stored parts
 * stay until the whole replacement is on the disk and checked; then one transaction replaces them.
 */
import type { FolioReport } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { UntrustedError } from '../../errors.js';
import { countOf, formatCount } from '../../quantities.js';
import type { PartReplacement, RunContext } from '../../run-context.js';
import type { Bytes, PartReference, StoredPart } from '../../types.js';
import { checkSameService } from '../submit/check-replies.js';
import {
  checkChunkBalance,
  type FetchTogether,
  fetchTogether,
  isComplete,
  isSamePart,
  listParts,
  sizeOfParts,
} from './folio-parts.js';

export type RefetchPartsNeeds = Pick<RunContext, 'id' | 'config' | 'api' | 'at' | 'files' | 'signal'> & {
  readonly checkpoint: Pick<Checkpoint, 'parts' | 'recordRefetched' | 'attempts' | 'recordMixed'>;
};

/**
 * Prepares a replacement. Only its methods send requests.
 * @param chunk `finished` or `downloaded`.
 * @param how see `FetchTogether`.
 */
export async function refetchParts(
  run: RefetchPartsNeeds,
  chunk: ChunkRow,
  { until, slots }: Pick<FetchTogether, 'until' | 'slots'> = {},
): Promise<PartReplacement> {
  const stored = await run.checkpoint.parts(run.id, chunk.number);
  const fetched: StoredPart[] = [];
  let counts = chunk.counts!;
  let parts: readonly StoredPart[] = stored;
  /** Whether the checkpoint may name the new parts: the reply to the commit may be lost. */
  let mayBeSwapped = false;

  const store = async (some: readonly StoredPart[]): Promise<void> => void fetched.push(...some);
  const fetch = (some: readonly PartReference[], held: Bytes) =>
    fetchTogether(run, chunk, some, { held, slots, until, store });
  const removeExcept = async (some: readonly StoredPart[], kept: readonly StoredPart[]) => {
    for (const part of some) {
      if (!kept.some((other) => isSameContent(part, other))) await run.files.removePart(chunk.number, part);
    }
  };

  return {
    get parts() {
      return parts;
    },
    fetchOne: async (damaged) => {
      const others = parts.filter((part) => !isSamePart(part, damaged));
      const [fetched] = await fetch([damaged], sizeOfParts(others));
      parts = parts.map((part) => (isSamePart(part, damaged) ? fetched! : part));
      checkChunkBalance(chunk, counts, parts);
    },
    fetchAll: async () => {
      const report = await run.api.track(chunk.folio!, run.signal, until);
      await checkSameService(run.checkpoint, run.id, chunk, report.rehearsal);
      if (!isComplete(report)) throw wentBackError(chunk, report);
      [counts, parts] = [report.counts!, await fetch(listParts(chunk, report), 0)];
      checkChunkBalance(chunk, counts, parts);
    },
    commit: async () => {
      const isUnchanged =
        parts.length === stored.length && parts.every((part, at) => isSameContent(part, stored[at]!));
      // Only damaged files were replaced, by files with the same content.
      if (isUnchanged && chunk.state === 'downloaded') return chunk;
      run.at('after-refetch-before-swap');
      mayBeSwapped = true;
      const swapped = await run.checkpoint.recordRefetched(run.id, chunk.number, counts, parts);
      run.at('after-swap-before-removal');
      await removeExcept([...stored, ...fetched], parts);
      return swapped;
    },
    discard: async () => {
      if (!mayBeSwapped) await removeExcept(fetched, stored);
    },
  };
}

function isSameContent(one: StoredPart, other: StoredPart): boolean {
  return isSamePart(one, other) && one.sha256 === other.sha256;
}

function wentBackError(
  { number, folio, counts }: ChunkRow,
  { status, counts: now, listedRecords, successfulParts }: FolioReport,
): UntrustedError {
  const { successful, failed } = counts!;
  const listed = successfulParts.length === 0 ? 0 : listedRecords;
  const is =
    status === 'FINISHED' && now !== null
      ? `now lists parts for ${formatCount(listed ?? 0)} of ${countOf(now.successful, 'successful record')}`
      : `is now ${status}${status === 'FINISHED' ? ' without these counts' : ''}`;
  return new UntrustedError(
    'FOLIO_WENT_BACK',
    `chunk ${number}: folio ${folio} was FINISHED with ${formatCount(successful)} successful and ${countOf(failed, 'failed record')}, and ${is}`,
    {
      hint: 'nothing is published; ask the service provider about this folio: when it is FINISHED as before, the same command goes on; nothing is paid again',
      facts: { chunk: number },
    },
  );
}
