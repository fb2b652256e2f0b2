import { readdir } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ScanSourceOptions } from '../../src/source/scan-source.js';
import { useFiles, useFolder } from '../helpers/folders/folders.js';
import { scanPaths } from '../helpers/source/scan-paths.js';

const write = useFiles();
const folder = useFolder();

const scan = async (paths: string[], columns: string[], changes: Partial<ScanSourceOptions> = {}) =>
  scanPaths(paths, { keyCheck: { columns, folder: await folder() }, ...changes });

describe('source.key', () => {
  it('that is unique and filled passes', async () => {
    const path = await write('a.csv', 'id,state\n1,MT\n1,ID\n2,MT\n');
    expect(await scan([path], ['id', 'state'])).toMatchObject({ records: 3 });
    expect(await scan([path], ['state', 'id'])).toMatchObject({ records: 3 });
  });

  it.each([
    ['empty', ''],
    ['quoted and empty', '""'],
    ['blanks', ' \t'],
    ['quoted blanks', '"  "'],
  ])('that is %s names file, record and line', async (_, value) => {
    const path = await write('a.csv', `id,"na\nme"\n1,"a\nb"\n${value},c\n`);
    await expect(scan([path], ['id'])).rejects.toMatchObject({
      code: 'SOURCE_KEY_BLANK',
      exitCode: 4,
      facts: { file: path, record: 2, line: 5, column: 'id' },
    });
  });

  it('that is there twice names both records, across files and in any form', async () => {
    const one = await write('a.csv', 'id,name\n1,"a\nb"\n"x""y",b\n');
    const two = await write('b.csv.gz', gzipSync('id,name\r\n"3",c\r\n"x""y",d\r\n3,e\r\n'));
    const scanning = scan([one, two], ['id']);
    await expect(scanning).rejects.toMatchObject({
      code: 'SOURCE_KEY_DOUBLED',
      exitCode: 4,
      facts: { file: two, record: 4, line: 3, otherFile: one, otherRecord: 2, otherLine: 4 },
    });
    await expect(scanning).rejects.toThrow(
      /record 4 \(line 3\) has the same key as record 2 \(.*, line 4\): id "x"y"$/,
    );
  });

  it('counts quoted and unquoted values as the same, and other splits of the same text as different', async () => {
    const path = await write('a.csv', 'a,b\nx,yz\nxy,z\n"x",y\n"x","yz"\n');
    await expect(scan([path], ['a', 'b'])).rejects.toMatchObject({
      code: 'SOURCE_KEY_DOUBLED',
      facts: { record: 4, otherRecord: 1 },
    });
  });

  it('of a rejected record does not count', async () => {
    const path = await write('a.csv', 'id,name\n1,a\n1,b,c\n,d,e\n2,f\n');
    expect(await scan([path], ['id'], { maxRejected: { share: 1 } })).toMatchObject({
      records: 4,
      rejected: 2,
    });
  });

  it('of a million records is compared, and no file is left', async () => {
    const ids = Array.from({ length: 1_000_000 }, (_, n) => `${n}`);
    const good = await write('a.csv', `id\n${ids.join('\n')}\n`);
    expect(await scan([good], ['id'])).toMatchObject({ records: 1_000_000 });
    const bad = await write('b.csv', `id\n${ids.join('\n')}\n17\n`);
    await expect(scan([bad], ['id'])).rejects.toMatchObject({
      facts: { record: 1_000_001, otherRecord: 18, line: 1_000_002, otherLine: 19 },
    });
    expect(await readdir(await folder())).toEqual([]);
  });
});
