/**
 * Makes the published file from the work file, when the path of the output ends in a format other than `.csv`. This comes
 * before "publishing" is committed: a value that cannot be written leaves the run open, with all that it has bought, and
 * the same command publishes it once the config is corrected.
 */

import { writeParquet } from '../../duckdb/write-parquet.js';
import { compressFile, encodedPathOf, encodeFile, encodingFolderOf } from '../../files/encoded-file.js';
import { outputFormat } from '../../output-format.js';
import { checkParquetNames, checkTypes } from '../../results/column-types.js';
import { createOutputLayout, outputColumns } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import type { HashedFile } from '../../streams/file-identity.js';

/**
 * @param work the work file; `columns` are those that the service adds, `records` its rows.
 * @returns undefined if the work file itself is published.
 * @throws ConfigError as `checkTypes`, `checkParquetNames` and `writeParquet`.
 */
export async function encodeOutput(
  run: Pick<RunContext, 'source' | 'config' | 'signal' | 'at'>,
  work: { readonly path: string; readonly columns: readonly string[]; readonly records: number },
): Promise<HashedFile | undefined> {
  const { output } = run.config;
  const format = outputFormat(output.path);
  if (format === 'csv') return undefined;
  const { signal } = run;
  const encoded = await encodeFile(work.path, async (parquet, file) => {
    if (format !== 'parquet') return compressFile(work.path, file, format, signal);
    const layout = createOutputLayout(run.source, output);
    const columns = outputColumns(layout, work.columns);
    // If the service has predicted nothing at all, no column is known.
    checkTypes(layout, work.columns, output.types, work.columns.length > 0);
    checkParquetNames(columns);
    const tempFolder = encodingFolderOf(work.path);
    const { types } = output;
    await writeParquet({
      csv: work.path,
      parquet,
      columns,
      types,
      records: work.records,
      tempFolder,
      signal,
    });
  });
  run.at('after-encoded-before-publishing');
  return encoded;
}

/** The local file that is put in place under the path of the output. */
export function waitingOutput(work: string, isEncoded: boolean): string {
  return isEncoded ? encodedPathOf(work) : work;
}
