/** Which columns the output has, in which order, and where the source's ones come from (contract, "Files"). */
import { stringify } from 'csv-stringify/sync';
import { ConfigError, UntrustedError } from '../errors.js';
import { lookalikeName } from '../nearest-name.js';
import { showText } from '../text.js';
import type { ColumnKinds, Dialect } from '../types.js';
import type { SentColumns } from './join-way.js';
import type { PartTable } from './part-table.js';

export interface OutputLayout {
  /** Places of the kept source columns, in the order of the output. */
  readonly sourceFields: readonly number[];
  /** Byte of the source's delimiter. */
  readonly delimiter: number;
  readonly sourceColumns: readonly string[];
  readonly prefix: string;
  readonly lineage: boolean;
}

/** What a layout must know of a source. */
export interface LaidOutSource {
  readonly columns: readonly string[];
  readonly files: readonly { readonly dialect: Pick<Dialect, 'delimiter'> }[];
}

export interface OutputOptions {
  readonly columns: 'all' | readonly string[];
  readonly prefix: string;
  readonly lineage: boolean;
}

/** @throws ConfigError when a chosen column is not there, or a kept one could be taken for one of ours. */
export function createOutputLayout(source: LaidOutSource, output: OutputOptions): OutputLayout {
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

/** The output's column names, given those that the service adds. */
export function outputColumns(layout: OutputLayout, added: readonly string[]): string[] {
  const lineage = layout.lineage ? ['run', 'folio', 'part', 'record'] : [];
  const taken = ['status', 'error_code', 'error', ...lineage];
  // A service's column of a name that we use ourselves keeps its values under another one, used by nobody.
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
 * Place of a column in the source.
 * @throws ConfigError naming the config key when it is not there.
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

function hintFor(columns: readonly string[], column: string, key: string): string {
  const meant = lookalikeName(column, columns);
  if (meant !== undefined) {
    return `did you mean ${showText(meant)}? write exactly that for ${key}, or mend the header`;
  }
  if (columns.length > 1) return `correct ${key}: names are compared letter by letter`;
  return `with one column only, source.delimiter may not be that of the file; or correct ${key}`;
}

// Which columns the service adds to what we sent, and what becomes of them when they change.

/**
 * The columns of a part that are not what we sent, in the part's order.
 * @param kinds of the sent columns: the service's answers among them are its own.
 */
export function addedColumns(part: PartTable, sent: SentColumns, kinds: ColumnKinds): string[] {
  return part.columns.filter(
    (column) => column !== sent.key && (!sent.columns.includes(column) || kinds[column] === 'answer'),
  );
}

/**
 * Holds the successful parts to the run's columns.
 * @param onChange `ignore` drops what is more and leaves empty what is missing.
 * @throws UntrustedError under `fail` when a part has other columns.
 */
export function checkAddedColumns(
  part: PartTable,
  sent: SentColumns,
  kinds: ColumnKinds,
  columns: readonly string[],
  onChange: 'fail' | 'add' | 'ignore',
): void {
  if (onChange === 'ignore') return;
  const added = addedColumns(part, sent, kinds);
  const missing = columns.filter((column) => !added.includes(column));
  const strange = added.filter((column) => !columns.includes(column));
  if (missing.length === 0 && strange.length === 0) return;
  const told = [
    ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
    ...(strange.length > 0 ? [`unknown so far: ${strange.join(', ')}`] : []),
  ];
  throw new UntrustedError('COLUMNS_CHANGED', `the service's result columns changed (${told.join('; ')})`, {
    hint: 'set result.columns to what is right now, or result.onChange: ignore, and run again: nothing is paid again',
    facts: { part: part.reference.part },
  });
}
