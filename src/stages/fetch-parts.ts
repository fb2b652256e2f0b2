/** Fetches all parts of one chunk, counts what they hold, and asks once more where that does not balance. */
import type { DownloadRequest } from '../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { UntrustedError } from '../errors/index.js';
import { countResults } from '../results/count-results.js';
import { PART_BYTES_AT_MOST } from '../results/part-table.js';
import type { RunContext } from '../run-context.js';
import type { FolioCounts, PartReference, StoredPart } from '../types.js';
import { isComplete, listParts } from './folio-completion.js';

export type FetchPartsNeeds = Pick<
  RunContext,
  'id' | 'config' | 'files' | 'api' | 'signal' | 'logger' | 'at'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'listedParts' | 'parts' | 'recordFinished' | 'recordPart' | 'recordDownloaded'
  >;
};

/**
 * Makes a `finished` chunk `downloaded`, and returns it so. Parts that are stored already are not fetched again.
 * @throws UntrustedError when the parts still do not balance after they were fetched once more.
 * @throws FolioLostError when the service no longer knows the folio.
 */
export async function fetchParts(run: FetchPartsNeeds, chunk: ChunkRow): Promise<ChunkRow> {
  try {
    const stored = await run.checkpoint.parts(run.id, chunk.number);
    const parts: StoredPart[] = [];
    for (const part of await run.checkpoint.listedParts(run.id, chunk.number)) {
      const isThis = (other: PartReference) =>
        other.part === part.part && other.fileStatus === part.fileStatus;
      parts.push(stored.find(isThis) ?? (await fetchPart(run, chunk, part)));
    }
    checkBalance(chunk, chunk.counts!, parts);
  } catch (error) {
    if (!(error instanceof UntrustedError)) throw error;
    run.logger.warn(
      { chunk: chunk.number, folio: chunk.folio, code: error.code },
      `chunk ${chunk.number}: ${error.message}; its parts are fetched once more`,
    );
    return refetchParts(run, chunk);
  }
  run.at('after-part-before-downloaded');
  return run.checkpoint.recordDownloaded(run.id, chunk.number);
}

/**
 * Asks for a folio's parts anew and fetches all of them, whatever is stored; the chunk is `downloaded` then.
 * @throws UntrustedError when they do not balance.
 */
export async function refetchParts(run: FetchPartsNeeds, chunk: ChunkRow): Promise<ChunkRow> {
  const report = await run.api.track(chunk.folio!, run.signal);
  if (!isComplete(report)) {
    throw new UntrustedError(
      'FOLIO_WENT_BACK',
      `chunk ${chunk.number}: folio ${chunk.folio} was FINISHED and is now ${report.status}`,
      { hint: 'run the same command again; nothing is paid again', facts: { chunk: chunk.number } },
    );
  }
  const listed = listParts(report);
  await run.checkpoint.recordFinished(run.id, chunk.number, report.counts!, listed);
  const parts: StoredPart[] = [];
  for (const part of listed) parts.push(await fetchPart(run, chunk, part));
  checkBalance(chunk, report.counts!, parts);
  return run.checkpoint.recordDownloaded(run.id, chunk.number);
}

async function fetchPart(run: FetchPartsNeeds, chunk: ChunkRow, part: PartReference): Promise<StoredPart> {
  const request: DownloadRequest = { folio: chunk.folio!, ...part, maxBytes: maxPartBytes(chunk) };
  const stored = await run.api.download(
    request,
    async (content) => {
      const counted = countResults(content);
      const written = await run.files.writePart(chunk.number, part, counted.content);
      return { ...part, ...written, records: counted.count() };
    },
    run.signal,
  );
  run.at('after-part-file-before-commit');
  await run.checkpoint.recordPart(run.id, chunk.number, stored);
  return stored;
}

/** Law 1: what we sent, what the service counts and what the parts hold are the same numbers. */
function checkBalance(chunk: ChunkRow, counts: FolioCounts, parts: readonly StoredPart[]): void {
  const held = { successful: 0, failed: 0 };
  for (const { fileStatus, records } of parts) {
    held[fileStatus === 'FAILED' ? 'failed' : 'successful'] += records;
  }
  const sum = counts.successful + counts.failed;
  if (sum === chunk.records && held.successful === counts.successful && held.failed === counts.failed) {
    return;
  }
  throw new UntrustedError(
    'CHUNK_UNBALANCED',
    `chunk ${chunk.number} (folio ${chunk.folio}): ${chunk.records} records were sent, the service counts ` +
      `${counts.successful} successful and ${counts.failed} failed, its parts hold ${held.successful} and ${held.failed}`,
    {
      hint: 'nothing is published; ask the service provider about this folio, then run the same command again',
      facts: { chunk: chunk.number, folio: chunk.folio },
    },
  );
}

/** No honest part is larger: what we sent and 4 KiB of answer for each record. What is read as a table is less. */
function maxPartBytes(chunk: ChunkRow): number {
  return Math.min(2 * chunk.bytes + 4096 * chunk.records + 1024 * 1024, PART_BYTES_AT_MOST);
}
