/** Fetches one part of a folio to the disk, beside what is stored of it with another content. */
import type { DownloadRequest } from '../api/prediction-api.js';
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import { countResults } from '../results/count-results.js';
import { PART_BYTES_AT_MOST } from '../results/part-table.js';
import type { RunContext } from '../run-context.js';
import type { PartReference, StoredPart } from '../types.js';
import { expectSameService, type SameServiceNeeds } from './refuse-mixed.js';

export type FetchPartNeeds = SameServiceNeeds & Pick<RunContext, 'api' | 'files' | 'signal'>;

/**
 * @param until once aborted, a single answer that folio or part is not known decides.
 * @returns what the file holds; the checkpoint does not know of it yet.
 * @throws FolioLostError when the service does not know the folio or the part; UntrustedError `SERVICE_MIXED`.
 */
export function fetchPart(
  run: FetchPartNeeds,
  chunk: ChunkRow,
  part: PartReference,
  until?: AbortSignal,
): Promise<StoredPart> {
  const { fileStatus, part: number } = part;
  return run.api.download(
    requestFor(chunk, part),
    async (content, { rehearsal }) => {
      await expectSameService(run, chunk, rehearsal);
      const counted = countResults(content);
      const written = await run.files.writePart(chunk.number, part, counted.content);
      return { fileStatus, part: number, ...written, records: counted.count() };
    },
    run.signal,
    until,
  );
}

/** No honest part is larger: what we sent and 4 KiB of answer for each record. What is read as a table is less. */
export function requestFor(chunk: ChunkRow, { fileStatus, part }: PartReference): DownloadRequest {
  const maxBytes = Math.min(2 * chunk.bytes + 4096 * chunk.records + 1024 * 1024, PART_BYTES_AT_MOST);
  return { folio: chunk.folio!, fileStatus, part, maxBytes };
}
