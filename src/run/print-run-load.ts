/** Writes the statements that load the publication of a run, for a person or another program to run. */
import { openCheckpointReader } from '../checkpoint/sqlite/open-sqlite-checkpoint.js';
import type { Config } from '../config/schema.js';
import { ConfigError } from '../errors.js';
import { contentOf } from '../files/encoded-file.js';
import { createLoadTable } from '../load/configured-load.js';
import { type PrintDialect, printLoad } from '../load/print/print-load.js';
import { outputFormat } from '../output-format.js';
import { createOutputLayout } from '../results/output-layout.js';
import { checkHoldsCsv, checkLoadable } from './load-run.js';
import { namedRun } from './named-run.js';
import { readHeader } from './source-header.js';

/**
 * Before the first publication, the statements are an example made from the header of the source and from
 * `result.columns`. Asks no database but that of `source.query`, for the columns.
 * @param id names a run of the pipeline (see `namedRun`).
 * @throws ConfigError `LOAD_MISSING` without the section `load`; `RUN_UNKNOWN`, `LOAD_NOT_LOADABLE`, `LOAD_NEEDS_CSV`,
 *   `LOAD_NAMES`; SourceError when the source cannot be
 *   read.
 */
export async function printRunLoad(config: Config, id: string, dialect: PrintDialect): Promise<string> {
  if (config.load === null) {
    throw new ConfigError('LOAD_MISSING', 'the config has no section load, which names table and mode', {
      hint: 'for statements alone: load: { into: none, table: businesses, mode: merge }',
    });
  }
  const row = await findRow(config, id);
  if (row === undefined && id !== 'last') {
    throw new ConfigError('RUN_UNKNOWN', `pipeline ${config.pipeline} has no run ${id}`, {
      hint: 'see the runs with: foliopipe runs',
    });
  }
  if (row?.publication) {
    checkLoadable(row, row.publication, config.load);
    checkHoldsCsv(row.id, row.publication);
    const { number, records, output, resultColumns, content } = row.publication;
    const { sha256 } = contentOf(row.publication);
    const table = createLoadTable(config, createOutputLayout(row.source, output), resultColumns);
    const format = content === undefined ? 'csv' : outputFormat(output.path);
    const file = { path: output.path, records, format };
    return printLoad({ table, publication: number, run: row.id, sha256, file }, dialect);
  }
  const layout = createOutputLayout(row?.source ?? (await readHeader(config)), config.output);
  const table = createLoadTable(config, layout, config.result.columns);
  const { path } = config.output;
  const file = { path, records: 0, format: outputFormat(path) };
  const example = printLoad({ table, publication: 0, run: 'RUN', sha256: '', file }, dialect);
  return `-- An example: nothing is published yet. Columns of the service that result.columns does not declare are missing.\n${example}`;
}

async function findRow({ stateDir, pipeline }: Config, id: string) {
  const reader = await openCheckpointReader(stateDir);
  if (reader === undefined) return undefined;
  try {
    return await namedRun(reader, pipeline, id);
  } finally {
    await reader.close();
  }
}
