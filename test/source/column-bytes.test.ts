/** How long the columns are, from a sample. */
import { expect, it } from 'vitest';
import { createColumnBytes } from '../../src/source/column-bytes.js';
import { useFiles } from '../helpers/folders/folders.js';
import { scanPaths } from '../helpers/source/scan-paths.js';

const file = useFiles();

const scan = async (text: string) => scanPaths([await file('source.csv', text)]);

it('is what the fields of a source have on average, with quotes and delimiters', async () => {
  const rows = Array.from({ length: 20_000 }, (_, at) => `${at % 2},"${'y'.repeat(97)}",zz`);
  expect((await scan(`a,b,c\n${rows.join('\n')}\n`)).columnBytes).toEqual([2, 100, 3]);
});

it('looks at one record at least of a wide source', async () => {
  const columns = Array.from({ length: 600 }, (_, at) => `c${at}`);
  const found = await scan(`${columns.join(',')}\n${columns.map(() => 'xx').join(',')}\n`);
  expect(found.columnBytes).toEqual(columns.map(() => 3));
});

it('is zero where nothing was seen', () => {
  expect(createColumnBytes(2).average()).toEqual([0, 0]);
});
