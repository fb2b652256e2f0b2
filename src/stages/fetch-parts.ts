/** Fetches all parts of one chunk, counts what they hold, and asks once more where that does not balance. */
import type { DownloadRequest } from '../api/prediction-api.js';
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { UntrustedError } from '../errors/index.js';
import { countResults } from '../results/count-results.js';
import type { RunContext } from '../run-context.js';
import type { FolioCounts, PartReference } from '../types.js';
import { isComplete, listParts } from './folio-completion.js';

export type FetchPartsNeeds = Pick<
  RunContext,
  'id' | 'config' | 'files' | 'api' | 'signal' | 'logger' | 'at'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'chunk' | 'listedParts' | 'parts' | 'recordFinished' | 'recordPart' | 'recordDownloaded'
  >;
};

/**
 * Makes a `finished` chunk `downloaded`. Parts that are stored already are not fetched again.
 * @throws UntrustedError when the parts still do not balance after they were fetched once more.
 * @throws FolioLostError when the service no longer knows the folio.
 */
export async function fetchParts(run: FetchPartsNeeds, chunk: ChunkRow): Promise<void> {
  try {
    const stored = await run.checkpoint.parts(run.id, chunk.number);
    const isStored = (part: PartReference) =>
      stored.some(({ part: number, fileStatus }) => number === part.part && fileStatus === part.fileStatus);
    const listed = await run.checkpoint.listedParts(run.id, chunk.number);
    for (const part of listed) if (!isStored(part)) await fetchPart(run, chunk, part);
    await checkBalance(run, chunk, chunk.counts!);
  } catch (error) {
    if (!(error instanceof UntrustedError)) throw error;
    run.logger.warn(
      { chunk: chunk.number, folio: chunk.folio, code: error.code },
      `chunk ${chunk.number}: ${error.message}; its parts are fetched once more`,
    );
    await refetchParts(run, chunk);
    return;
  }
  run.at('after-part-before-downloaded');
  await run.checkpoint.recordDownloaded(run.id, chunk.number);
}

/**
 * Asks for a folio's parts anew and fetches all of them, whatever is stored.
 * @throws UntrustedError when they do not balance.
 */
export async function refetchParts(run: FetchPartsNeeds, chunk: ChunkRow): Promise<void> {
  const report = await run.api.track(chunk.folio!, run.signal);
  if (!isComplete(report)) {
    throw new UntrustedError(
      'FOLIO_WENT_BACK',
      `chunk ${chunk.number}: folio ${chunk.folio} was FINISHED and is now ${report.status}`,
      { hint: 'run the same command again; nothing is paid again', facts: { chunk: chunk.number } },
    );
  }
  await run.checkpoint.recordFinished(run.id, chunk.number, report.counts!, listParts(report));
  for (const part of listParts(report)) await fetchPart(run, chunk, part);
  await checkBalance(run, chunk, report.counts!);
  await run.checkpoint.recordDownloaded(run.id, chunk.number);
}

async function fetchPart(run: FetchPartsNeeds, chunk: ChunkRow, part: PartReference): Promise<void> {
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
}

/** Law 1: what we sent, what the service counts and what the parts hold are the same numbers. */
async function checkBalance(run: FetchPartsNeeds, chunk: ChunkRow, counts: FolioCounts): Promise<void> {
  const held = { successful: 0, failed: 0 };
  for (const part of await run.checkpoint.parts(run.id, chunk.number)) {
    held[part.fileStatus === 'FAILED' ? 'failed' : 'successful'] += part.records;
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

/** No honest part is larger: what we sent and 4 KiB of answer for each record. */
function maxPartBytes(chunk: ChunkRow): number {
  return 2 * chunk.bytes + 4096 * chunk.records + 1024 * 1024;
}
