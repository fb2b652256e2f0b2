/** First stage: the chunks that still need the service, those with an open folio first, then newly cut ones. */
import type { Checkpoint, ChunkRow } from '../checkpoint/checkpoint.js';
import { eachChunk } from '../checkpoint/each-chunk.js';
import type { RunContext } from '../run-context.js';
import { createUploadLayout, cutChunks } from './cut-chunks.js';
import { checkSourceStamp, firstPlace, recordsFrom } from './read-source.js';

export type ChunkRecordsNeeds = Pick<
  RunContext,
  'id' | 'source' | 'config' | 'files' | 'chunkNumbers' | 'uploads' | 'signal' | 'at'
> & {
  readonly checkpoint: Pick<
    Checkpoint,
    'chunksIn' | 'chunk' | 'lastCut' | 'recordCut' | 'recordAllCut' | 'run'
  >;
};

/**
 * Chunk files are cut just before they are asked for; a resume goes on behind the last one that was cut. Ends
 * early once uploads are stopped.
 * @throws SourceError when the source is no longer the one that was checked.
 */
export function chunkRecords(run: ChunkRecordsNeeds): () => AsyncGenerator<ChunkRow> {
  return async function* () {
    yield* eachChunk(run.checkpoint, run.id, ['submitted', 'finished']);
    for await (const chunk of eachChunk(run.checkpoint, run.id, ['cut'])) {
      if (run.uploads.stopped) return;
      yield chunk;
    }
    const row = await run.checkpoint.run(run.id);
    if (row?.chunks === null) yield* cutRest(run);
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
  const place =
    last === undefined ? firstPlace(run.source) : { position: last.end, record: last.lastRecord + 1 };
  for await (const { chunk, content } of cutChunks(recordsFrom(run, place), layout, run.config.chunks)) {
    run.signal.throwIfAborted();
    if (run.uploads.stopped) return;
    await checkSourceStamp(run.source, chunk.start, chunk.end);
    const number = run.chunkNumbers.next();
    await run.files.writeChunk(number, content);
    run.at('after-chunk-file-before-commit');
    await run.checkpoint.recordCut(run.id, { ...chunk, number, picked: null });
    run.at('after-cut-before-intent');
    yield (await run.checkpoint.chunk(run.id, number))!;
  }
  await run.checkpoint.recordAllCut(run.id);
}
