/** Writes the statements that load the publication of a run, for a person or another program to run. */
import type { CheckpointReader, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { dataPath, publicationPlace } from '../../config/sections/output-names.js';
import { ConfigError } from '../../errors.js';
import { createOutputStore } from '../../files/create-output-store.js';
import { contentOf } from '../../files/encoded-file.js';
import { createLoadTable } from '../../load/configured-load.js';
import { type PrintDialect, printLoad } from '../../load/print/print-load.js';
import { outputFormat } from '../../output-format.js';
import { createOutputLayout } from '../../results/output-layout.js';
import { checkLoadFile, publicationOf } from '../check/check-load-file.js';
import { firstSourceHeader } from '../check/source-header.js';
import { checkKnown, namedRun } from '../open/named-run.js';
import { openStateReader } from '../state-reader.js';
import { checkLoadable } from './load-run.js';

/**
 * Before the first publication of the pipeline, the statements are an example made from the header of the source and from
 * `result.columns`. Asks no database except that of `source.query`, and that only for the columns.
 * @param id names a run of the pipeline (see `namedRun`).
 * @throws ConfigError `LOAD_MISSING` without the section `load`; `RUN_UNKNOWN`, `RUN_UNFINISHED`,
 *   `LOAD_NOT_LOADABLE`, `LOAD_NEEDS_CSV`, `LOAD_NAMES`, and `OUTPUT_MISSING` or `OUTPUT_CHANGED` when the publication is
 *   not in place; SourceError when the source cannot be read.
 */
export async function printRunLoad(config: Config, id: string, dialect: PrintDialect): Promise<string> {
  if (config.load === null) {
    throw new ConfigError('LOAD_MISSING', 'the config has no section load, which names table and mode', {
      hint: 'to print statements only: load: { into: none, table: businesses, mode: merge }',
    });
  }
  const reader = await openStateReader(config);
  let row: Run | undefined;
  try {
    row = reader && (await namedRun(reader, config.pipeline, id));
    if (id !== 'last') checkKnown(row, config.pipeline, id);
    const published = (await reader?.publications(config.pipeline)) ?? [];
    if (reader !== undefined && row !== undefined && published.length > 0) {
      return await printPublication(config, reader, row, dialect);
    }
  } finally {
    await reader?.close();
  }
  const layout = createOutputLayout(row?.source ?? (await firstSourceHeader(config)), config.output);
  const table = createLoadTable(config, layout, config.result.columns);
  const { path } = config.output;
  const file = { path: dataPath(publicationPlace(path, 'RUN', 0)), records: 0, format: outputFormat(path) };
  const example = printLoad({ table, publication: 0, run: 'RUN', sha256: '', file }, dialect);
  return `-- An example: nothing is published yet. Columns of the service that result.columns does not declare are missing.\n${example}`;
}

async function printPublication(
  config: Config,
  checkpoint: CheckpointReader,
  row: Run,
  dialect: PrintDialect,
): Promise<string> {
  const publication = publicationOf(row);
  checkLoadable(row, publication, config.load!);
  const command = `foliopipe load --print ${dialect}`;
  const store = createOutputStore(config, { attempts: 1 });
  await checkLoadFile({ checkpoint, output: store }, row, publication, { command, content: true });
  const { number, records, output, resultColumns, content } = publication;
  const { sha256 } = contentOf(publication);
  const table = createLoadTable(config, createOutputLayout(row.source, output), resultColumns);
  const format = content === undefined ? 'csv' : outputFormat(output.path);
  const place = publicationPlace(output.path, row.id, number);
  const file = { path: dataPath(place), records, format };
  return printLoad({ table, publication: number, run: row.id, sha256, file }, dialect);
}
