import { describe, expect, it } from 'vitest';
import { readRecords } from '../../src/source/read-records.js';
import type { Position, Source } from '../../src/types.js';
import { type Found, recordsOf } from '../helpers/csv/batches.js';
import { useFiles } from '../helpers/folders/folders.js';
import { scanPaths } from '../helpers/source/scan-paths.js';

const write = useFiles();

async function checked(...contents: (string | Buffer)[]): Promise<Source> {
  const paths: string[] = [];
  for (const [i, content] of contents.entries()) paths.push(await write(`${i}.csv`, content));
  return scanPaths(paths, { maxRejected: { share: 1 }, maxRecordBytes: 1_000 });
}

async function read(source: Source, position: Position, record: number): Promise<Found[]> {
  const found: Found[] = [];
  const options = {
    maxRecordBytes: 1_000,
    onBadRecord: (bad: { record: number }) => found.push({ record: bad.record, byte: -1, values: [] }),
  };
  for await (const batch of readRecords(source, { position, record }, options))
    found.push(...recordsOf(batch));
  return found;
}

describe('readRecords', () => {
  it('reads file after file, with numbers that go on, rejected records counted', async () => {
    const source = await checked('\u{feff}a,b\n1,x\nbad\n', 'a,b\r\n2,y\r\n3,z\nbad', 'a,b\n4,w\n');
    const all = await read(source, { file: 0, offset: source.files[0]!.dataStart }, 1);
    all.sort((a, b) => a.record - b.record);
    expect(all.map((found) => found.record)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(all.map((found) => 'values' in found && found.values[0])).toEqual([
      '1',
      undefined,
      '2',
      '3',
      undefined,
      '4',
    ]);
  });

  it.each([
    ['UTF-8', (text: string) => Buffer.from(`\u{feff}${text}`)],
    ['UTF-16', (text: string) => Buffer.from(`\u{feff}${text}`, 'utf16le')],
  ])('goes on from any position of %s, with the same records as from the beginning', async (_, encode) => {
    const text = Array.from({ length: 500 }, (_, i) => `${i},"näme\n${i}"\n`).join('');
    const source = await checked(encode(`a,b\n${text}`), encode('a,b\nx,y\n'));
    const all = await read(source, { file: 0, offset: source.files[0]!.dataStart }, 1);
    expect(all.length).toBe(501);
    for (const at of [1, 250, 499]) {
      const from = { file: 0, offset: (all[at] as { byte: number }).byte };
      expect(await read(source, from, at + 1)).toEqual(all.slice(at));
    }
    expect(await read(source, { file: 1, offset: source.files[1]!.dataStart }, 501)).toEqual(all.slice(500));
  });
});
