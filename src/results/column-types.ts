/** Which columns an output has, where they come from, and which of them have a type (`output.types`). */
import { ConfigError } from '../errors.js';
import { lookalikeName } from '../nearest-name.js';
import type { ColumnType, ColumnTypes } from '../output-format.js';
import { showNames, showText, typedText } from '../text.js';
import { type ColumnOrigin, columnsWithOrigin, type OutputLayout, outputColumns } from './output-layout.js';

interface OutputColumn {
  readonly name: string;
  readonly type: ColumnType | 'string';
  readonly from: ColumnOrigin;
}

/** @param added the columns that the service adds. */
export function describeColumns(
  layout: OutputLayout,
  added: readonly string[],
  types: ColumnTypes,
): readonly OutputColumn[] {
  return columnsWithOrigin(layout, added).map(({ name, from }) => ({
    name,
    type: Object.hasOwn(types, name) ? types[name]! : 'string',
    from,
  }));
}

/**
 * Checks that each column with a type is one of the output.
 * @param added the columns that the service adds, as far as they are known.
 * @param isAll whether these are all. Otherwise each name with the prefix may become a column.
 * @throws ConfigError `OUTPUT_TYPES_UNKNOWN`.
 */
export function checkTypes(
  layout: OutputLayout,
  added: readonly string[],
  types: ColumnTypes,
  isAll: boolean,
): void {
  const columns = outputColumns(layout, added);
  const unknown = Object.keys(types).find(
    (name) => !columns.includes(name) && (isAll || !name.startsWith(layout.prefix)),
  );
  if (unknown === undefined) return;
  const meant = lookalikeName(unknown, columns) ?? lookalikeName(layout.prefix + unknown, columns);
  throw new ConfigError(
    'OUTPUT_TYPES_UNKNOWN',
    `output.types: the output has no column ${showText(unknown)}; it has ${showNames(columns)}`,
    {
      hint: `${meant === undefined ? 'correct or remove it' : `did you mean ${typedText(meant)}? write exactly that`}, then run the same command again`,
      facts: { column: unknown },
    },
  );
}

/**
 * Checks that the columns of `result.report` are among those that the service adds.
 * @param added as far as they are known; nothing is checked if there are none, or if others may come.
 * @throws ConfigError `REPORT_COLUMN_UNKNOWN`.
 */
export function checkReportColumns(
  {
    report,
    onChange,
  }: {
    readonly report: Readonly<Record<'code' | 'confidence', string | null>>;
    readonly onChange: 'fail' | 'add' | 'ignore';
  },
  added: readonly string[],
): void {
  if (added.length === 0 || onChange === 'add') return;
  const found = Object.entries(report).find(([, column]) => column !== null && !added.includes(column));
  if (found === undefined) return;
  const [key, column] = found;
  const meant = lookalikeName(column!, added);
  throw new ConfigError(
    'REPORT_COLUMN_UNKNOWN',
    `result.report.${key}: the service adds no column ${showText(column!)}; it adds ${showNames(added)}`,
    {
      hint: `${meant === undefined ? 'correct it, or set it to null' : `did you mean ${typedText(meant)}? write exactly that`}, then run the same command again`,
      facts: { key: `result.report.${key}`, column },
    },
  );
}

/**
 * Checks that a Parquet file can hold the columns: most readers ignore the case of names.
 * @throws ConfigError `OUTPUT_NAMES_ALIKE`, also for a column without a name.
 */
export function checkParquetNames(columns: readonly string[]): void {
  const seen = new Map<string, string>();
  for (const name of columns) {
    const other = seen.get(name.toLowerCase());
    seen.set(name.toLowerCase(), name);
    if (name !== '' && other === undefined) continue;
    const what =
      name === ''
        ? 'a column without a name'
        : `the columns ${showText(other!)} and ${showText(name)}, which most readers take for one`;
    throw new ConfigError('OUTPUT_NAMES_ALIKE', `a Parquet file cannot hold ${what}`, {
      hint: 'leave one out with output.columns, or rename it with output.prefix or in the source; or let output.path end in .csv.gz',
      facts: { column: name },
    });
  }
}
