/** Looks at the source of a first config, and shows what was found. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lookAtSource, type SourceLook } from '../../../pipelines/index.js';
import { countOf, formatBytes } from '../../quantities.js';
import { escapeUnprintable, showNames } from '../../text.js';
import { stderr } from '../output.js';
import { previewLines } from '../texts/preview-text.js';
import { GUESSED_FROM, type Guesses } from './guess-columns.js';

/** The flags that say how a file is read. */
export interface FormatFlags {
  readonly delimiter?: string | undefined;
  readonly encoding?: string | undefined;
  readonly skipLines?: number | undefined;
  /** `first`, `rename`, `none`, or names with commas between them. */
  readonly header?: string | undefined;
}

/** How a file is read, where that differs from what is detected. */
export interface LookFormat {
  readonly delimiter?: string | undefined;
  readonly encoding?: string | undefined;
  readonly skipLines?: number | undefined;
  /** The names of the columns of a file without a header; `rename` numbers the doubled names of a header. */
  readonly header?: 'rename' | readonly string[] | undefined;
}

/** @throws the errors of `lookAtSource`. */
export function look(
  path: string,
  { delimiter, ...format }: LookFormat,
  signal: AbortSignal,
): Promise<SourceLook> {
  return lookAtSource(path, {
    records: GUESSED_FROM,
    folder: join(tmpdir(), 'foliopipe-init'),
    signal,
    ...format,
    delimiter: delimiter === '\\t' ? '\t' : delimiter,
  });
}

/** Such as `395.88 KB, utf8 with BOM, delimiter ",", 16 columns`. */
export function foundText({ files, bytes, dialect, columns }: SourceLook): string {
  const parts =
    dialect === null
      ? ['Parquet']
      : [
          formatBytes(bytes),
          ...(dialect.gzip ? ['gzip'] : []),
          `${dialect.encoding}${dialect.bom ? ' with BOM' : ''}`,
          `delimiter ${JSON.stringify(dialect.delimiter)}`,
        ];
  const more = files.length > 1 ? `${countOf(files.length, 'file')}, the first one: ` : '';
  return `${more}${[...parts, countOf(columns.length, 'column')].join(', ')}`;
}

/** Names that several columns have: none of these can be sent. */
export function doubledNames(columns: readonly string[]): readonly string[] {
  return [...new Set(columns.filter((name, at) => name !== '' && columns.indexOf(name) < at))];
}

/** What was found, with the names of the columns. */
export function foundLines(path: string, found: SourceLook): string {
  return `${escapeUnprintable(path)}: ${foundText(found)}\n  ${showNames(found.columns)}\n`;
}

/**
 * What was guessed, and how sure that is.
 * @param again the command to type again with other columns.
 */
export function guessLines(guesses: Guesses, again: string): string {
  const lines = Object.entries(guesses).map(
    ([sent, { column, certainty, why }]) =>
      `  ${sent.padEnd(8)} ${escapeUnprintable(column)}  (${certainty}: ${why})`,
  );
  const missing = ['address', 'state'].filter((sent) => !Object.hasOwn(guesses, sent));
  const lacks =
    missing.length === 0 ? [] : [`  no column was found for ${missing.join(' and ')}, so none is sent`];
  const hint = `  if one is wrong: ${again} --force, with --name COLUMN, --address COLUMN or --state COLUMN`;
  return `guessed columns\n${[...lines, ...lacks, hint].join('\n')}\n`;
}

/** The first records in the columns that are chosen. */
export function recordLines({ columns, records }: SourceLook, guesses: Guesses): string {
  const chosen = Object.entries(guesses);
  if (records.length === 0 || chosen.length === 0) return '';
  const fields = chosen.map(([, { column }]) => columns.indexOf(column));
  const rows = records.slice(0, 3).map((record) => fields.map((field) => record[field] ?? ''));
  const lines = previewLines({ columns: chosen.map(([sent]) => sent), records: rows }, stderr.columns);
  return lines.map((line) => `  ${line}\n`).join('');
}
