/**
 * The parts of a folio: says when they are complete (docs/architecture.md#what-the-interface-leaves-open), fetches them
 * to the disk, several at the same time, and checks that their records balance.
 */

import type { DownloadRequest, FolioReport } from '../../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { countRecords } from '../../csv/kernel/count-records.js';
import { MismatchError, UntrustedError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { askProvider } from '../../results/mismatch-hints.js';
import type { RunContext } from '../../run-context.js';
import { gather } from '../../streams/gather.js';
import { mapConcurrent } from '../../streams/map-concurrent.js';
import { createPermits, type Permits } from '../../streams/permits.js';
import { watchPieces } from '../../streams/read-pieces.js';
import { withAnySignal } from '../../streams/time-limit.js';
import type { Bytes, FolioCounts, PartReference, StoredPart } from '../../types.js';
import { checkSameService } from '../submit/check-replies.js';
import {
  checkListing,
  createColumnLimit,
  createFolioBytes,
  type FolioBytes,
  folioTooLargeError,
  maxFolioBytes,
} from './folio-limits.js';

/**
 * Whether the folio is FINISHED, has both counts, and lists successful parts for all successful records. If the ranges
 * of the parts cannot be read, one listed part is enough: its records are counted after the download.
 */
export function isComplete(report: FolioReport): boolean {
  if (report.status !== 'FINISHED' || report.counts === null) return false;
  const { successful } = report.counts;
  if (successful === 0) return true;
  if (report.successfulParts.length === 0) return false;
  return report.listedRecords === null || report.listedRecords >= successful;
}

/**
 * The parts of a complete folio. The part with failed records is listed only if records failed.
 * @throws UntrustedError `TOO_MANY_PARTS`.
 */
export function listParts(chunk: ChunkRow, report: FolioReport): PartReference[] {
  const { successful, failed } = report.counts!;
  checkListing(chunk, report.counts!, report.successfulParts.length);
  const parts: PartReference[] =
    successful === 0 ? [] : report.successfulParts.map((part) => ({ fileStatus: 'SUCCESSFUL', part }));
  return failed === 0 ? parts : [...parts, { fileStatus: 'FAILED', part: report.failedPart }];
}

type FetchPartNeeds = Pick<RunContext, 'id' | 'config' | 'api' | 'files'> & {
  readonly checkpoint: Pick<Checkpoint, 'attempts' | 'recordMixed'>;
};

/** How `fetchTogether` fetches the parts. */
export interface FetchTogether {
  /** The bytes of the folio's other parts, which are stored already. */
  readonly held: Bytes;
  /** A permit for each part that is fetched at the same time, for all chunks. Without it: one part after the other. */
  readonly slots?: Permits | undefined;
  /** Once it is aborted, a single reply that the folio or a part is not known is final. */
  readonly until?: AbortSignal | undefined;
  /** Called with parts as soon as their files are durable. Parts that arrive close together are given in one call. */
  readonly store?: (stored: readonly StoredPart[]) => Promise<void>;
}

/** A sync of the folder and a commit take as long as a small download. Parts that arrive within this time share them. */
const TOGETHER = { time: 20, most: 16 };

/**
 * Fetches several parts at the same time. When it ends, also with an error, no download is running any more, because
 * the caller may give up the chunk next.
 * @returns the parts as stored, in the order given.
 * @throws the first error of `fetchPart` or `store`; the other downloads are then aborted.
 */
export async function fetchTogether(
  run: FetchPartNeeds & { readonly signal: AbortSignal },
  chunk: ChunkRow,
  parts: readonly PartReference[],
  { held, slots, until, store }: FetchTogether,
): Promise<StoredPart[]> {
  const { downloads } = run.config.concurrency;
  const permits = slots ?? createPermits(1);
  const bytes = createFolioBytes(chunk, held);
  const controller = new AbortController();
  const stored: StoredPart[] = [];
  const settled = gather<StoredPart>(async (some) => {
    await run.files.syncParts();
    await store?.(some);
  }, TOGETHER);
  let left = parts.length;
  type Numbered = readonly [number, PartReference];
  const fetchOne = async ([at, part]: Numbered, signal: AbortSignal): Promise<void> => {
    const holder = `${chunk.number} ${part.fileStatus} ${part.part}`;
    await permits.acquire(holder, signal);
    try {
      stored[at] = await fetchPart(run, chunk, part, bytes, signal, until);
    } finally {
      await permits.release(holder);
    }
    const isSettled = settled.add(stored[at]);
    left -= 1;
    if (left === 0) settled.flush();
    await isSettled;
  };
  // The parts that are being fetched, which the permits bound, and those that wait for the sync.
  const inProgress = downloads + TOGETHER.most;
  await withAnySignal([run.signal, controller.signal], async (signal) => {
    const fetch = (one: Numbered) => fetchOne(one, signal);
    for await (const _ of mapConcurrent(entriesOf(parts), inProgress, fetch, controller));
  });
  return stored;
}

/**
 * Downloads a part to a file. Stored files of the same part with other content are kept.
 * @param bytes counts the bytes of all parts of the folio, which share one limit.
 * @param signal aborts the download.
 * @param until once it is aborted, a single reply that the folio or the part is not known is final.
 * @returns the part as stored; the checkpoint does not know it yet.
 * @throws FolioLostError when the service does not know the folio or the part; UntrustedError `SERVICE_MIXED`,
 *   `FOLIO_TOO_LARGE`, `PART_TOO_WIDE`.
 */
export async function fetchPart(
  run: FetchPartNeeds,
  chunk: ChunkRow,
  part: PartReference,
  bytes: FolioBytes,
  signal: AbortSignal,
  until?: AbortSignal,
): Promise<StoredPart> {
  const { fileStatus, part: number } = part;
  const { keyColumn, columns } = run.config.upload;
  const sent = Object.keys(columns).length + (keyColumn === null ? 0 : 1);
  const createLimit = () => createColumnLimit(sent, chunk, part);
  try {
    return await run.api.download(
      { ...requestFor(chunk, part, bytes.held), watch: createLimit },
      async (content, { rehearsal }) => {
        await checkSameService(run.checkpoint, run.id, chunk, rehearsal);
        // A client need not call `watch`, so the pieces are limited here too.
        const counted = countRecords(bytes.count(part, watchPieces(content, createLimit())));
        const written = await run.files.writePart(chunk.number, part, counted.content);
        return { fileStatus, part: number, ...written, records: counted.count() };
      },
      signal,
      until,
    );
  } catch (error) {
    const isTooLarge = error instanceof UntrustedError && error.code === 'PART_TOO_LARGE';
    throw isTooLarge ? folioTooLargeError(chunk, part) : error;
  }
}

/** The request for a part. Its limit is what the other parts of the folio leave of the folio's limit. */
export function requestFor(
  chunk: ChunkRow,
  { fileStatus, part }: PartReference,
  held: Bytes,
): DownloadRequest {
  return { folio: chunk.folio!, fileStatus, part, maxBytes: Math.max(maxFolioBytes(chunk) - held, 0) };
}

/** Whether both are the same part of a folio, whatever their content. */
export function isSamePart(one: PartReference, other: PartReference): boolean {
  return one.part === other.part && one.fileStatus === other.fileStatus;
}

/** The total bytes of the parts. */
export function sizeOfParts(parts: readonly StoredPart[]): Bytes {
  return parts.reduce((sum, { bytes }) => sum + bytes, 0);
}

/**
 * Checks rule "Balance" (docs/architecture.md#balance) for one chunk: the number of records sent, the counts of the
 * service and the records in the parts agree.
 * @throws MismatchError `CHUNK_UNBALANCED`.
 */
export function checkChunkBalance(chunk: ChunkRow, counts: FolioCounts, parts: readonly StoredPart[]): void {
  const held = { successful: 0, failed: 0 };
  for (const { fileStatus, records } of parts) {
    held[fileStatus === 'FAILED' ? 'failed' : 'successful'] += records;
  }
  const sum = counts.successful + counts.failed;
  if (sum === chunk.records && held.successful === counts.successful && held.failed === counts.failed) {
    return;
  }
  throw new MismatchError(
    'CHUNK_UNBALANCED',
    `chunk ${chunk.number} (folio ${chunk.folio}): ${countOf(chunk.records, 'record')} sent, the service counts ` +
      `${counts.successful} successful and ${counts.failed} failed, its parts hold ${held.successful} and ${held.failed}`,
    {
      hint: askProvider,
      facts: { chunk: chunk.number, folio: chunk.folio },
    },
  );
}

async function* entriesOf<T>(items: readonly T[]): AsyncGenerator<readonly [number, T]> {
  yield* items.entries();
}
