/** The columns of the output, their order, and the source columns from which they are taken. */
import { stringify } from 'csv-stringify/sync';
import { ConfigError } from '../errors.js';
import { lookalikeName } from '../nearest-name.js';
import { showText } from '../text.js';
import type { Dialect } from '../types.js';

export interface OutputLayout {
  /** Indexes of the kept source columns, in the order of the output. */
  readonly sourceFields: readonly number[];
  /** Byte of the source's delimiter. */
  readonly delimiter: number;
  /** Names of the kept source columns. */
  readonly sourceColumns: readonly string[];
  /** Begins the name of each column that is added. */
  readonly prefix: string;
  /** Whether each row ends with its run, folio, part and record number. */
  readonly lineage: boolean;
}

/** The facts about a source that decide on a layout. */
export interface LayoutSource {
  readonly columns: readonly string[];
  readonly files: readonly { readonly dialect: Pick<Dialect, 'delimiter'> }[];
}

export interface OutputOptions {
  readonly columns: 'all' | readonly string[];
  readonly prefix: string;
  readonly lineage: boolean;
}

/**
 * @throws ConfigError `CONFIG_COLUMN_MISSING` when a chosen column is not in the source; `OUTPUT_COLUMN_TAKEN` when the
 *   name of a kept column begins with the prefix of the added columns.
 */
export function createOutputLayout(source: LayoutSource, output: OutputOptions): OutputLayout {
  const kept = output.columns === 'all' ? source.columns : output.columns;
  const fields = kept.map((column) => fieldOf(source.columns, column, 'output.columns'));
  const taken = kept.find((column) => column.startsWith(output.prefix));
  if (taken !== undefined) {
    throw new ConfigError(
      'OUTPUT_COLUMN_TAKEN',
      `the source's column ${showText(taken)} begins with ${output.prefix}, as the columns that are added do`,
      { hint: 'set output.prefix to something else, or leave the column out with output.columns' },
    );
  }
  const delimiter = source.files[0]!.dialect.delimiter.charCodeAt(0);
  return {
    sourceFields: fields,
    delimiter,
    sourceColumns: kept,
    prefix: output.prefix,
    lineage: output.lineage,
  };
}

/** @param added the columns that the service adds. */
export function outputColumns(layout: OutputLayout, added: readonly string[]): string[] {
  const lineage = layout.lineage ? ['run', 'folio', 'part', 'record'] : [];
  const taken = ['status', 'error_code', 'error', ...lineage];
  // Renames a column of the service whose name is taken.
  const nameOf = (column: string) => {
    if (!taken.includes(column)) return column;
    let name = `service_${column}`;
    while (added.includes(name)) name = `service_${name}`;
    return name;
  };
  const own = ['status', 'error_code', 'error', ...added.map(nameOf), ...lineage];
  return [...layout.sourceColumns, ...own.map((column) => layout.prefix + column)];
}

/** The output's first line. */
export function outputHeader(layout: OutputLayout, added: readonly string[]): Buffer {
  return Buffer.from(stringify([outputColumns(layout, added)]));
}

/**
 * Index of a column in the source.
 *
 * @param key the config key that names the column.
 * @throws ConfigError `CONFIG_COLUMN_MISSING` naming the config key when the source has no such column.
 */
export function fieldOf(columns: readonly string[], column: string, key: string): number {
  const at = columns.indexOf(column);
  if (at >= 0) return at;
  throw new ConfigError(
    'CONFIG_COLUMN_MISSING',
    `${key}: the source has no column ${showText(column)}; it has ${columns.map((name) => showText(name)).join(', ')}`,
    { hint: hintFor(columns, column, key), facts: { key, column } },
  );
}

/** Suggests a column whose name has the same letters and digits, apart from case. */
function hintFor(columns: readonly string[], column: string, key: string): string {
  const meant = lookalikeName(column, columns);
  if (meant !== undefined) {
    return `did you mean ${showText(meant)}? write exactly that for ${key}, or correct the header`;
  }
  if (columns.length > 1) return `correct ${key}: names are compared letter by letter`;
  return `the source has one column only: check source.delimiter, or correct ${key}`;
}
