/** Makes the database and the table of a load from the section `load`. Imports the code of a database when it is used. */
import type { Config } from '../config/schema.js';
import { ConfigError } from '../errors.js';
import { type ColumnOrigin, columnsWithOrigin, type OutputLayout } from '../results/output-layout.js';
import { showText } from '../text.js';
import type { ColumnRole, LoadTable, LoadTarget, TargetOptions } from './load-target.js';

type CreateTarget = (options: TargetOptions) => LoadTarget;

/** The kinds of databases by the scheme of their addresses. Each has a folder. */
const kinds: Readonly<Record<string, () => Promise<CreateTarget>>> = {
  postgres: async () => (await import('./postgres/postgres-target.js')).createPostgresTarget,
  duckdb: async () => (await import('./duckdb/duckdb-target.js')).createDuckdbTarget,
};

/** A target that connects when it is used, and closes its connection each time. */
export function createLoadTarget(options: TargetOptions): LoadTarget {
  const open = async () => (await kinds[options.address.scheme]!())(options);
  return {
    check: async (table, signal) => (await open()).check(table, signal),
    load: async (request, loadOptions) => (await open()).load(request, loadOptions),
  };
}

/** The values of the config that decide on a load. */
type LoadSettings = Pick<Config, 'pipeline' | 'load'> & {
  readonly source: Pick<Config['source'], 'key'>;
};

/**
 * @param layout of the output.
 * @param added the columns that the service adds, as far as they are known.
 * @throws ConfigError `OUTPUT_KEY_MISSING` when the output leaves out a column by which rows are merged.
 */
export function createLoadTable(
  { pipeline, load, source: { key } }: LoadSettings,
  layout: OutputLayout,
  added: readonly string[],
): LoadTable {
  const { table, mode, onSchema, onRemoved } = load!;
  const names = mode === 'merge' ? (key ?? []) : [];
  const lost = names.find((name) => !layout.sourceColumns.includes(name));
  if (lost !== undefined) {
    throw new ConfigError(
      'OUTPUT_KEY_MISSING',
      `output.columns leaves out ${showText(lost)}, by which load.mode: merge finds a row`,
      {
        hint: 'add the columns of source.key to output.columns; then, if the output is published already: foliopipe publish RUN',
        facts: { column: lost },
      },
    );
  }
  const roleOf = (name: string, from: ColumnOrigin): ColumnRole => {
    if (from === 'source') return names.includes(name) ? 'key' : 'source';
    if (from === 'foliopipe') return name === `${layout.prefix}status` ? 'status' : 'reason';
    return from === 'service' ? 'answer' : 'lineage';
  };
  const columns = columnsWithOrigin(layout, added).map(({ name, from }) => ({
    name,
    role: roleOf(name, from),
  }));
  return { pipeline, table, mode, onSchema, onRemoved, columns };
}
