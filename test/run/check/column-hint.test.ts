/** What is said to do about a column that the source does not have, by what kind of source it is. */
import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { checkColumns } from '../../../src/run/check/check-source.js';
import { configErrorOf, minimalWith } from '../../helpers/config/minimal-config.js';

const query = { database: 'duckdb:in.duckdb', sql: 'select 1' };

async function hintFor(source: object, columns: readonly string[]): Promise<string> {
  const config = parseConfig(minimalWith({ source }));
  const dialect = { encoding: 'utf8', delimiter: ',', bom: 0, quote: 'auto', newline: 'lf' } as never;
  const file = { path: 'in.csv', dialect } as never;
  const error = await configErrorOf(() => checkColumns({ columns, files: [file] }, config));
  return error.hint!;
}

it('of a query names no line of a file as the header', async () => {
  expect(await hintFor({ query }, ['id', 'title'])).toBe(
    'correct upload.columns.name: names are compared letter by letter; or let source.query.sql give this name: select ... as NAME',
  );
  expect(await hintFor({ query }, ['id', 'business_name'])).toBe(
    'did you mean "business_name"? write exactly that for upload.columns.name; or let source.query.sql give this name: select ... as NAME',
  );
  // One column is no sign of a wrong delimiter here.
  expect(await hintFor({ query }, ['a;b'])).not.toContain('delimiter');
  expect(await hintFor({ query }, ['BusinessName', 'BusinessName'])).toBe(
    'give each a name of its own in source.query.sql: select ... as NAME',
  );
});

it('of Parquet files names no header either', async () => {
  expect(await hintFor({ path: 'in.parquet' }, ['id', 'title'])).toBe(
    'correct upload.columns.name: names are compared letter by letter',
  );
});

it('of a CSV asks for its header, and for the delimiter if that has made one column of all', async () => {
  expect(await hintFor({ path: 'in.csv' }, ['id', 'title'])).toContain('source.skipLines');
  expect(await hintFor({ path: 'in.csv' }, ['id;title'])).toContain(
    "foliopipe plan --set 'source.delimiter=;' shows what is read then",
  );
  // Excel's line that names the delimiter stands before the header.
  expect(await hintFor({ path: 'in.csv' }, ['sep=;'])).toContain('source.skipLines');
});
