/** The second example of docs/streams.md, which shows this file word for word. */
import { Duplex, Readable, Transform, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import {
  type ChunkRow,
  type Config,
  checkAllDownloaded,
  chunkRecords,
  downloadParts,
  type MergedStretch,
  mergeResults,
  openRun,
  type RunOptions,
  submitChunks,
  trackFolios,
} from '../../../pipelines/index.js';

/** Writes the rows, gzipped, to any stream of bytes, and reports each chunk that the service has finished. */
export async function loadThroughStreams(
  config: Config,
  finished: (chunk: ChunkRow) => void,
  target: Writable,
  options?: RunOptions,
): Promise<void> {
  const watch = new Transform({
    objectMode: true,
    transform: (chunk: ChunkRow, _encoding, done) => {
      finished(chunk);
      done(null, chunk);
    },
  });
  const bytesOf = new Transform({
    writableObjectMode: true,
    transform: ({ bytes }: MergedStretch, _encoding, done) => done(null, bytes),
  });
  const run = await openRun(config, options);
  try {
    await pipeline([
      Readable.from(chunkRecords(run)()),
      Duplex.from(submitChunks(run)),
      Duplex.from(trackFolios(run)),
      watch,
      Duplex.from(downloadParts(run)),
      Duplex.from(mergeResults(run, { fromFirst: true })),
      bytesOf,
      createGzip(),
      target,
    ]);
    await checkAllDownloaded(run);
  } finally {
    await run.close();
  }
}
