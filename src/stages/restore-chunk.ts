/** Makes sure that a chunk's file is there with the bytes that were cut, cutting it again where it is not. */
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import type { RunContext } from '../run-context.js';
import { createUploadLayout, cutChunks } from './cut-chunks.js';
import { checkSourceStamp, sourceChanged } from './read-source.js';
import { type RecordsOfNeeds, recordsOf } from './records-of-chunk.js';

/** @throws SourceError when the source no longer gives the same chunk. */
export async function restoreChunk(
  run: RecordsOfNeeds & Pick<RunContext, 'files'>,
  chunk: ChunkRow,
): Promise<void> {
  if (await run.files.hasChunk(chunk.number, chunk.sha256)) return;
  await checkSourceStamp(run.source, chunk.start, chunk.end);
  const layout = createUploadLayout(run.source, run.config.upload);
  const limits = {
    maxRecords: chunk.records,
    maxBytes: Number.MAX_SAFE_INTEGER,
    maxSourceBytes: Number.MAX_SAFE_INTEGER,
  };
  for await (const { chunk: again, content } of cutChunks(recordsOf(run, chunk), layout, limits)) {
    if (again.sha256 !== chunk.sha256) break;
    await run.files.writeChunk(chunk.number, content, chunk.sha256);
    return;
  }
  throw sourceChanged(
    run.source.files[chunk.start.file]!.path,
    `chunk ${chunk.number} is no longer the same`,
  );
}
