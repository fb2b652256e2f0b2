/** The columns of the output: those of the source, their order, and those that the service adds. */
import { stringify } from 'csv-stringify/sync';
import { ConfigError, MismatchError, UntrustedError } from '../errors.js';
import { lookalikeName } from '../nearest-name.js';
import { presentTexts, showNames, showText, typedText } from '../text.js';
import type { ColumnKinds, Dialect } from '../types.js';
import type { SentColumns } from './join-method.js';
import type { PartTable } from './part-table.js';

export interface OutputLayout {
  /** Indexes of the kept source columns, in the order of the output. */
  readonly sourceFields: readonly number[];
  /** Byte of the source's delimiter. */
  readonly delimiter: number;
  /** Names of the kept source columns. */
  readonly sourceColumns: readonly string[];
  /** The prefix of the name of each added column. */
  readonly prefix: string;
  /** Whether each row ends with the run, folio, part, record and time that paid for its answer. */
  readonly lineage: boolean;
}

/** The facts about a source that decide on a layout. */
export interface LayoutSource {
  readonly columns: readonly string[];
  readonly files: readonly { readonly dialect: Pick<Dialect, 'delimiter'> }[];
}

interface OutputOptions {
  readonly columns: 'all' | readonly string[];
  readonly prefix: string;
  readonly lineage: boolean;
}

/**
 * @throws ConfigError as `fieldOf` does for a chosen column; `OUTPUT_COLUMN_TAKEN` when the name of a kept column begins
 *   with the prefix of the added columns.
 */
export function createOutputLayout(source: LayoutSource, output: OutputOptions): OutputLayout {
  const { prefix, lineage } = output;
  const isAll = output.columns === 'all';
  const kept = isAll ? source.columns : output.columns;
  const fields = kept.map((column, at) => (isAll ? at : fieldOf(source.columns, column, 'output.columns')));
  const taken = kept.find((column) => column.startsWith(prefix));
  if (taken !== undefined) {
    throw new ConfigError(
      'OUTPUT_COLUMN_TAKEN',
      `the source's column ${showText(taken)} begins with ${prefix}, as the columns that are added do`,
      { hint: 'set output.prefix to something else, or leave the column out with output.columns' },
    );
  }
  const delimiter = source.files[0]!.dialect.delimiter.charCodeAt(0);
  return { sourceFields: fields, delimiter, sourceColumns: kept, prefix, lineage };
}

/** How a row has ended. */
export const STATUS_COLUMNS = ['status', 'error_code', 'error'] as const;

/** What has paid for the answer of a row, and when. */
export const LINEAGE_COLUMNS = ['run', 'folio', 'part', 'record', 'answered_at'] as const;

/** `foliopipe`: one of `STATUS_COLUMNS`. */
export type ColumnOrigin = 'source' | 'foliopipe' | 'service' | 'lineage';

/**
 * The output's columns, in order.
 * @param added the columns that the service adds.
 */
export function columnsWithOrigin(
  layout: OutputLayout,
  added: readonly string[],
): { readonly name: string; readonly from: ColumnOrigin }[] {
  const lineage = layout.lineage ? LINEAGE_COLUMNS : [];
  const taken: readonly string[] = [...STATUS_COLUMNS, ...lineage];
  // Renames a column of the service whose name is taken.
  const nameOf = (column: string) => {
    if (!taken.includes(column)) return column;
    let name = `service_${column}`;
    while (added.includes(name)) name = `service_${name}`;
    return name;
  };
  const own = (columns: readonly string[], from: ColumnOrigin) =>
    columns.map((column) => ({ name: layout.prefix + column, from }));
  return [
    ...layout.sourceColumns.map((name) => ({ name, from: 'source' as const })),
    ...own(STATUS_COLUMNS, 'foliopipe'),
    ...own(added.map(nameOf), 'service'),
    ...own(lineage, 'lineage'),
  ];
}

/** The names of the output's columns, in order. */
export function outputColumns(layout: OutputLayout, added: readonly string[]): string[] {
  return columnsWithOrigin(layout, added).map(({ name }) => name);
}

/** The output's first line. */
export function outputHeader(layout: OutputLayout, added: readonly string[]): Buffer {
  return Buffer.from(stringify([outputColumns(layout, added)]));
}

/**
 * Index of a column in the source.
 *
 * @param key the config key that names the column.
 * @throws ConfigError naming the config key: `CONFIG_COLUMN_MISSING` when the source has no such column,
 *   `CONFIG_COLUMN_TWICE` when it has several.
 */
export function fieldOf(columns: readonly string[], column: string, key: string): number {
  const at = columns.indexOf(column);
  const last = columns.lastIndexOf(column);
  if (last > at) {
    throw new ConfigError(
      'CONFIG_COLUMN_TWICE',
      `${key}: columns ${at + 1} and ${last + 1} of the source are both called ${showText(column)}`,
      {
        hint: `set source.header: rename, which calls the second one ${showText(`${column}_2`)}, or give each a name of its own in the file`,
        facts: { key, column },
      },
    );
  }
  if (at >= 0) return at;
  throw new ConfigError(
    'CONFIG_COLUMN_MISSING',
    `${key}: the source has no column ${showText(column)}; it has ${showNames(columns)}`,
    { hint: hintFor(columns, column, key), facts: { key, column } },
  );
}

/** Suggests a column whose name has the same letters and digits, apart from case. */
function hintFor(columns: readonly string[], column: string, key: string): string {
  const meant = lookalikeName(column, columns);
  if (meant !== undefined) {
    return `did you mean ${typedText(meant)}? write exactly that for ${key}, or correct the header`;
  }
  return `correct ${key}: names are compared letter by letter; if the first line is not the header, set source.skipLines, or source.header for a file without one`;
}

/**
 * The columns of a part that were not sent, in the part's order.
 *
 * @param kinds of the sent columns: a column of kind `answer` counts as added.
 */
export function addedColumns(part: PartTable, sent: SentColumns, kinds: ColumnKinds): string[] {
  return part.columns.filter(
    (column) => column !== sent.key && (!sent.columns.includes(column) || kinds[column] === 'answer'),
  );
}

/** How the columns of a part differ from those of the run. */
export interface ColumnChange {
  /** Columns of the run that the part lacks. */
  readonly missing: readonly string[];
  /** Columns that only the part has, in its order. */
  readonly unknown: readonly string[];
}

/**
 * Compares the added columns of a successful part with those of the run.
 *
 * @param columns the run's added columns.
 * @param onChange `ignore`: compares nothing. The writer then drops unknown columns and leaves missing ones empty.
 * @returns the difference under `add`; undefined if there is none.
 * @throws UntrustedError `COLUMNS_CHANGED` under `fail` when a part lacks a column or has an unknown one.
 */
export function checkAddedColumns(
  part: PartTable,
  sent: SentColumns,
  kinds: ColumnKinds,
  columns: readonly string[],
  onChange: 'fail' | 'add' | 'ignore',
): ColumnChange | undefined {
  if (onChange === 'ignore') return undefined;
  const added = addedColumns(part, sent, kinds);
  const missing = columns.filter((column) => !added.includes(column));
  const unknown = added.filter((column) => !columns.includes(column));
  if (missing.length === 0 && unknown.length === 0) return undefined;
  if (onChange === 'add') return { missing, unknown };
  const changes = presentTexts([
    missing.length > 0 && `missing: ${showNames(missing)}`,
    unknown.length > 0 && `unknown so far: ${showNames(unknown)}`,
  ]);
  throw new UntrustedError(
    'COLUMNS_CHANGED',
    `the service's result columns changed (${changes.join('; ')})`,
    {
      hint: 'take the new columns too: foliopipe run --set result.onChange=add; or leave them out: result.onChange=ignore; or set result.columns to the columns of today, and run again; nothing is paid again',
      facts: { part: part.reference.part },
    },
  );
}

/**
 * Checks that each successful part has at least one added column.
 *
 * @param kinds of the sent columns in successful parts.
 * @throws UntrustedError `NOTHING_PREDICTED` when a part has only the columns that were sent.
 */
export function checkPredicted(parts: readonly PartTable[], sent: SentColumns, kinds: ColumnKinds): void {
  for (const part of parts) {
    if (part.reference.fileStatus === 'FAILED' || part.count === 0) continue;
    if (addedColumns(part, sent, kinds).length > 0) continue;
    throw new MismatchError(
      'NOTHING_PREDICTED',
      `the successful results hold only what was sent (${part.columns.join(', ')}): nothing was predicted`,
      {
        hint: 'nothing more is uploaded; ask the service provider where its predictions are; if a sent column holds them, leave it out of result.echo',
        facts: { part: part.reference.part },
      },
    );
  }
}
