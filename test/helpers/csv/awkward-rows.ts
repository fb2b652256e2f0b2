/** Random rows of texts that a CSV can get wrong, and the check that a copy of them holds them all. */
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect } from 'vitest';
import { scanPaths } from '../source/scan-paths.js';

export type AwkwardRow = readonly (string | null)[];

const pieces = [
  '"',
  ',',
  ';',
  '\n',
  '\r',
  '\r\n',
  '\t',
  '\\',
  '\\.',
  "'",
  '#',
  ' ',
  'é',
  '\u{feff}',
  '😀',
  'NULL',
  '0',
  '01',
];
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((parts) => parts.join(''));

/** @param columns of each row; each row may hold nothing but NULL and empty texts. */
export function awkwardRows(columns: number): AwkwardRow[] {
  const cell = fc.option(text, { freq: 6 });
  return fc.sample(fc.array(cell, { minLength: columns, maxLength: columns }), { numRuns: 300, seed: 14 });
}

/** A statement that gives the rows, with their numbers for the order. @param literal a text in the dialect. */
export function selectRows(rows: readonly AwkwardRow[], literal: (text: string) => string): string {
  const names = rows[0]!.map((_, at) => `"c ${at}"`);
  const values = rows.map(
    (row, at) =>
      `(${[String(at), ...row.map((cell) => (cell === null ? 'null::text' : literal(cell)))].join(', ')})`,
  );
  return `select ${names.join(', ')} from (values ${values.join(', ')}) as v(n, ${names.join(', ')}) order by n`;
}

/** Expects all rows in the copy, and as many records for the check of a source. NULL is an empty text in a CSV. */
export async function expectRows(path: string, rows: readonly AwkwardRow[]): Promise<void> {
  const found = parse(await readFile(path), { from_line: 1, record_delimiter: '\n' }) as string[][];
  expect(found.slice(1)).toEqual(rows.map((row) => row.map((cell) => cell ?? '')));
  const { records } = await scanPaths([path], {
    encoding: 'utf8',
    delimiter: ',',
    maxRecordBytes: 1024 * 1024,
  });
  expect(records).toBe(rows.length);
}
