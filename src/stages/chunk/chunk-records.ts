/** First stage: the chunks that still need the service, those with an open folio first, then newly cut ones. */
import type { Checkpoint, ChunkRow } from '../../checkpoint/checkpoint.js';
import { eachChunk, isAnswered } from '../../checkpoint/walk-run.js';
import type { RunContext } from '../../run-context.js';
import { positionAfter, recordsFrom } from '../read-source.js';
import { begunChunks, eachOfCanary, type KeepChunkNeeds, keepChunk } from './begun-chunks.js';
import { createUploadLayout, cutChunks } from './cut-chunks.js';

export type ChunkRecordsNeeds = KeepChunkNeeds &
  Pick<RunContext, 'canary' | 'config' | 'uploads' | 'signal'> & {
    readonly checkpoint: Pick<
      Checkpoint,
      'chunk' | 'chunksIn' | 'nextChunk' | 'lastCut' | 'recordAllCut' | 'run'
    >;
  };

/**
 * Chunk files are cut just before they are asked for; a resume goes on behind the last one that was cut. Ends
 * early once uploads are stopped.
 * @throws SourceError when the source is no longer the one that was checked.
 */
export function chunkRecords(run: ChunkRecordsNeeds): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    yield* begunChunks(run);
    if (run.uploads.stopped) return;
    const row = await run.checkpoint.run(run.id);
    if (row?.chunks === null) yield* cutRest(run);
  };
}

/** The canary alone: the source's first chunk, or the halves that took its place, as far as they need the service. */
export function canaryChunks(run: ChunkRecordsNeeds): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    if ((await run.checkpoint.lastCut(run.id, 0)) === undefined) {
      for await (const chunk of cutRest(run)) {
        yield chunk;
        return;
      }
    }
    for await (const chunk of eachOfCanary(run)) {
      if (!isAnswered(chunk) && chunk.state !== 'ambiguous') yield chunk;
    }
  };
}

/** The chunks that were sent and are not all here yet: what needs no upload. */
export function openChunks(
  run: Pick<ChunkRecordsNeeds, 'checkpoint' | 'id'>,
): () => AsyncGenerator<ChunkRow> {
  return () => eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
}

async function* cutRest(run: ChunkRecordsNeeds): AsyncGenerator<ChunkRow> {
  const layout = createUploadLayout(run.source, run.config.upload);
  const last = await run.checkpoint.lastCut(run.id, 0);
  const limits = { ...run.config.chunks, canary: last === undefined ? run.canary : 0 };
  for await (const cut of cutChunks(recordsFrom(run, positionAfter(run.source, last)), layout, limits)) {
    run.signal.throwIfAborted();
    if (run.uploads.stopped) return;
    yield await keepChunk(run, cut, null);
  }
  await run.checkpoint.recordAllCut(run.id);
}
