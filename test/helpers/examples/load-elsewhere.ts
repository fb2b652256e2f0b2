/** The first example of docs/streams.md, which shows this file word for word. */
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type Config,
  checkAllDownloaded,
  chunkRecords,
  downloadParts,
  type MergedStretch,
  mergeResults,
  openRun,
  type RunOptions,
  runStages,
  submitChunks,
  trackFolios,
} from '../../../pipelines/index.js';

/** Gives the rows to `load`, stretch after stretch in the order of the source, instead of writing a file. */
export async function loadElsewhere(
  config: Config,
  load: (stretch: MergedStretch) => Promise<void>,
  options?: RunOptions,
): Promise<void> {
  const run = await openRun(config, options);
  const warehouse = new Writable({
    objectMode: true,
    write: (stretch: MergedStretch, _encoding, done) => {
      load(stretch).then(() => done(), done);
    },
  });
  try {
    await runStages(
      run.controller,
      chunkRecords(run),
      submitChunks(run),
      trackFolios(run),
      downloadParts(run),
      mergeResults(run, { fromFirst: true }),
      (rows: AsyncIterable<MergedStretch>) => pipeline(rows, warehouse),
    );
    await checkAllDownloaded(run);
  } finally {
    await run.close();
  }
}
