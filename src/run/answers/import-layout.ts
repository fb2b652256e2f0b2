/** Finds the sent columns, the answers and how rows ended in the header of a file of answers. */
import type { Config } from '../../config/schema.js';
import { ConfigError } from '../../errors.js';
import { LINEAGE_COLUMNS, STATUS_COLUMNS } from '../../results/output-layout.js';
import { showText } from '../../text.js';

/** Indexes of columns in the file. */
export interface ImportLayout {
  /** The sent columns, in the order in which they are sent. */
  readonly sent: readonly number[];
  /** Names of the answers' columns as the service has them. */
  readonly columns: readonly string[];
  readonly answers: readonly number[];
  /** How rows ended; null if the file does not say: then a row is an answer if it has any value. */
  readonly status: { readonly status: number; readonly code: number; readonly error: number } | null;
  /** Which run has paid for a row, and when; null if the file does not say. */
  readonly lineage: Readonly<Record<(typeof LINEAGE_COLUMNS)[number], number>> | null;
}

interface ImportNames {
  /** The answers' columns and their names in the file; undefined: they are found by the names of the others. */
  readonly columns?: Readonly<Record<string, string>> | undefined;
  /** The columns that the service is known to add. */
  readonly known: readonly string[];
}

/**
 * @param header the file's columns.
 * @throws ConfigError `IMPORT_COLUMN_MISSING`, `IMPORT_COLUMN_TWICE`, `IMPORT_COLUMN_UNKNOWN`, `IMPORT_COLUMNS_UNKNOWN`.
 */
export function importLayout(
  header: readonly string[],
  { upload, output: { prefix } }: Pick<Config, 'upload' | 'output'>,
  names: ImportNames,
): ImportLayout {
  const at = (name: string) => header.indexOf(prefix + name);
  const sent = Object.entries(upload.columns).map(([name, column]) => {
    const field = header.includes(column) ? header.indexOf(column) : header.indexOf(name);
    if (field === -1) throw missing(header, column, `upload.columns.${name}`);
    return field;
  });
  const isOutput = STATUS_COLUMNS.every((name) => at(name) >= 0);
  const hasLineage = isOutput && LINEAGE_COLUMNS.every((name) => at(name) >= 0);
  const own: readonly string[] = [...STATUS_COLUMNS, ...(hasLineage ? LINEAGE_COLUMNS : [])];
  const found = answerFields(header, { ...names, prefix, own: isOutput ? own : null });
  checkKnown(found, names.known);
  const layout: ImportLayout = {
    sent,
    columns: found.map(({ column }) => column),
    answers: found.map(({ field }) => field),
    status: isOutput ? { status: at('status'), code: at('error_code'), error: at('error') } : null,
    lineage: hasLineage
      ? {
          run: at('run'),
          folio: at('folio'),
          part: at('part'),
          record: at('record'),
          answered_at: at('answered_at'),
        }
      : null,
  };
  const { status, lineage } = layout;
  checkOnce(header, [...sent, ...layout.answers, ...Object.values({ ...status, ...lineage })]);
  return layout;
}

/** @throws ConfigError `IMPORT_COLUMN_TWICE` for a field that is used and whose name another column has too. */
function checkOnce(header: readonly string[], fields: readonly number[]): void {
  for (const field of fields) {
    const name = header[field]!;
    const [first, last] = [header.indexOf(name), header.lastIndexOf(name)];
    if (first === last) continue;
    throw new ConfigError(
      'IMPORT_COLUMN_TWICE',
      `columns ${first + 1} and ${last + 1} of the file are both called ${showText(name)}`,
      { hint: 'give each a name of its own in the file', facts: { column: name } },
    );
  }
}

interface AnswerField {
  readonly column: string;
  readonly field: number;
}

/** @param own names after the prefix that are not answers; null if the file is not an output. */
function answerFields(
  header: readonly string[],
  {
    columns,
    known,
    prefix,
    own,
  }: ImportNames & { readonly prefix: string; readonly own: readonly string[] | null },
): readonly AnswerField[] {
  if (columns !== undefined) {
    return Object.entries(columns).map(([column, name]) => {
      const field = header.indexOf(name);
      if (field === -1) throw missing(header, name, `--columns ${column}=${name}`);
      return { column, field };
    });
  }
  if (own !== null) {
    const left = [...own, changeColumn(known)];
    return header.flatMap((name, field) => {
      const column = name.slice(prefix.length);
      if (!name.startsWith(prefix) || left.includes(column)) return [];
      return [{ column: known.includes(column) ? column : serviceName(column, own), field }];
    });
  }
  if (known.length === 0) {
    throw new ConfigError('IMPORT_COLUMNS_UNKNOWN', 'it is unknown which columns of the file are answers', {
      hint: 'name them with --columns, such as --columns naics_code=code,naics_title=title: first the name that the service gives, then the name in the file',
    });
  }
  return known.map((column) => {
    const field = header.includes(prefix + column) ? header.indexOf(prefix + column) : header.indexOf(column);
    if (field === -1) throw missing(header, column, 'the answers');
    return { column, field };
  });
}

/** @throws ConfigError `IMPORT_COLUMN_UNKNOWN`: a run would refuse the service's columns beside those of the file. */
function checkKnown(found: readonly AnswerField[], known: readonly string[]): void {
  const unknown = found.filter(({ column }) => !known.includes(column)).map(({ column }) => showText(column));
  if (known.length === 0 || unknown.length === 0) return;
  throw new ConfigError(
    'IMPORT_COLUMN_UNKNOWN',
    `the service does not give the columns ${unknown.join(', ')}: it gives ${known.map((name) => showText(name)).join(', ')}`,
    {
      hint: "say with --columns which column of the file holds which of the service's, and leave the others out",
    },
  );
}

/** The column that a delta file has and an output has not: a name that no column of the service has. */
function changeColumn(known: readonly string[]): string {
  let name = 'change';
  while (known.includes(name)) name = `row_${name}`;
  return name;
}

/** The service's name of a column: an output renames a column whose name it needs itself. */
function serviceName(column: string, own: readonly string[]): string {
  const name = column.replace(/^(service_)+/, '');
  return own.includes(name) ? name : column;
}

function missing(header: readonly string[], column: string, key: string): ConfigError {
  return new ConfigError(
    'IMPORT_COLUMN_MISSING',
    `${key}: the file has no column ${showText(column)}; it has ${header.map((name) => showText(name)).join(', ')}`,
    {
      hint: 'name the columns of the answers with --columns, first the name that the service gives, then the name in the file; the sent columns must have the names that the config gives them',
      facts: { key, column },
    },
  );
}
