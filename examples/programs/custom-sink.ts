/** A sink of one's own: the rows go into SQLite, in one transaction for each chunk. */
import type { Database } from 'better-sqlite3';
import {
  type Config,
  checkAllDownloaded,
  chunkRecords,
  createOutputLayout,
  createRowReader,
  downloadParts,
  type MergedStretch,
  mergeResults,
  openRun,
  outputColumns,
  type RunOptions,
  type RunSummary,
  runStages,
  submitChunks,
  trackFolios,
} from 'foliopipe';

/**
 * Enriches a source whose column `id` names each business. The run is then done, without any other output.
 */
export async function enrichIntoTable(
  config: Config,
  db: Database,
  options?: RunOptions,
): Promise<RunSummary> {
  db.exec('CREATE TABLE IF NOT EXISTS businesses (id TEXT PRIMARY KEY, status TEXT, code TEXT) STRICT');
  // A continued run gives all rows again, from the first one, so rows that exist are overwritten.
  const save = db.prepare(
    'INSERT OR REPLACE INTO businesses VALUES (@id, @prediction_status, @prediction_naics_code)',
  );
  await using run = await openRun(config, options);
  const layout = createOutputLayout(run.source, run.config.output);

  const saveChunk = db.transaction(({ bytes, columns }: MergedStretch) => {
    const read = createRowReader(outputColumns(layout, columns));
    for (const rows of read(bytes)) for (const row of rows) save.run(row);
  });
  if (run.found !== 'done') {
    await runStages(
      run.controller,
      chunkRecords(run),
      submitChunks(run),
      trackFolios(run),
      downloadParts(run),
      mergeResults(run, { fromFirst: true }),
      async (chunks: AsyncIterable<MergedStretch>) => {
        for await (const chunk of chunks) saveChunk(chunk);
      },
    );
    await checkAllDownloaded(run);
  }
  return run.confirm();
}
