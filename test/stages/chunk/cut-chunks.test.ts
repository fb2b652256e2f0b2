import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { scanRecords } from '../../../src/csv/scan-records.js';
import { withoutBlank } from '../../../src/source/read-records.js';
import {
  type CutChunk,
  type CutLimits,
  createUploadLayout,
  cutChunks,
  maxRecordBytes,
  type UploadOptions,
} from '../../../src/stages/chunk/cut-chunks.js';
import { thrownBy } from '../../helpers/csv/result-parts.js';

interface Cut {
  readonly chunk: CutChunk['chunk'];
  readonly text: string;
}

const upload: UploadOptions = { columns: { name: 'b', first: 'a' }, keyColumn: 'id' };
const sourceOf = (columns: string[], delimiter = ',') => ({ columns, files: [{ dialect: { delimiter } }] });

async function cut(
  content: string,
  changes: Partial<CutLimits> & { delimiter?: string; upload?: UploadOptions; sentFields?: number[] } = {},
): Promise<Cut[]> {
  const { delimiter = ',', ...limits } = { maxRecords: 1_000, maxBytes: 1_000_000, ...changes };
  const layout = createUploadLayout(sourceOf(['a', 'b'], delimiter), changes.upload ?? upload);
  const batches = scanRecords([Buffer.from(content)], {
    delimiter,
    fields: 2,
    maxRecordBytes: 1_000_000,
    file: 3,
    base: 50,
    firstRecord: 11,
    ...(changes.sentFields && { sentFields: changes.sentFields }),
    onBadRecord: () => undefined,
  });
  const found: Cut[] = [];
  for await (const { chunk, content: bytes } of cutChunks(withoutBlank(batches), layout, limits)) {
    found.push({ chunk, text: Buffer.from(bytes).toString() });
  }
  return found;
}

describe('a chunk', () => {
  it('is a whole file with the key and the sent columns in the order of the config', async () => {
    const [only, ...others] = await cut('x,"y, ""z"""\n"p\nq",\n');
    expect(others).toEqual([]);
    const text = 'id,name,first\n11,"y, ""z""",x\n12,,"p\nq"\n';
    expect(only).toEqual({
      text,
      chunk: {
        firstRecord: 11,
        lastRecord: 12,
        records: 2,
        start: { file: 3, offset: 50 },
        end: { file: 3, offset: 50 + 'x,"y, ""z"""\n"p\nq",'.length },
        bytes: text.length,
        sha256: createHash('sha256').update(text).digest('hex'),
      },
    });
  });

  it('without a key has the columns alone, and never an empty line', async () => {
    const one = { columns: { name: 'b' }, keyColumn: null };
    expect((await cut('x,y\nx,\nx,z\n', { upload: one }))[0]!.text).toBe('name\ny\n""\nz\n');
  });

  it('of a ; source holds the same values in a comma CSV', async () => {
    const [only] = await cut('"a;b";c,d\r\n"e";"f\r\n"\r\n', { delimiter: ';' });
    expect(only!.text).toBe('id,name,first\n11,"c,d",a;b\n12,"f\r\n",e\n');
  });

  it('quotes a field that ends with a CR, which would be taken for the line end', async () => {
    const last = { columns: { name: 'b' }, keyColumn: null };
    expect((await cut('a,b\r\r\n', { upload: last }))[0]!.text).toBe('name\n"b\r"\n');
  });
});

describe('chunks', () => {
  it('have as many records as allowed, and begin where the one before ended', async () => {
    const chunks = (await cut('a,1\nb,2\nc,3\nd,4\ne,5\n', { maxRecords: 2 })).map(({ chunk }) => chunk);
    expect(chunks.map(({ firstRecord, records }) => [firstRecord, records])).toEqual([
      [11, 2],
      [13, 2],
      [15, 1],
    ]);
    expect(chunks.map(({ start, end }) => [start.offset, end.offset])).toEqual([
      [50, 57],
      [58, 65],
      [66, 69],
    ]);
  });

  it.each([
    [0, [2, 2, 1]],
    [1, [1, 2, 2]],
    [2, [2, 2, 1]],
    [3, [2, 2, 1]],
  ])('with a canary of %i hold %j records', async (canary, expected) => {
    const chunks = await cut('a,1\nb,2\nc,3\nd,4\ne,5\n', { maxRecords: 2, canary });
    expect(chunks.map(({ chunk }) => chunk.records)).toEqual(expected);
  });

  it('after a canary that its bytes have cut short are as large as any', async () => {
    const { bytes } = (await cut('a,1\n'))[0]!.chunk;
    const chunks = await cut('a,1\nb,2\nc,3\n', { maxBytes: bytes, canary: 2 });
    expect(chunks.map(({ chunk }) => chunk.records)).toEqual([1, 1, 1]);
    const larger = await cut('aaaaaaaaaaaa,1\nb,2\nc,3\nd,4\n', { maxBytes: bytes + 14, canary: 2 });
    expect(larger.map(({ chunk }) => chunk.records)).toEqual([1, 3]);
  });

  it('leave nothing behind when the records are a multiple of the limit', async () => {
    expect(await cut('a,1\nb,2\n', { maxRecords: 2 })).toHaveLength(1);
    expect(await cut('', { maxRecords: 2 })).toEqual([]);
  });

  it('have as many bytes as allowed and not one more', async () => {
    const whole = (await cut('a,1\nb,2\n'))[0]!.chunk.bytes;
    expect(await cut('a,1\nb,2\nc,3\n', { maxBytes: whole })).toHaveLength(2);
    expect(await cut('a,1\nb,2\nc,3\n', { maxBytes: whole - 1 })).toHaveLength(3);
  });

  it('have as many bytes of the source as allowed, whatever of them is sent', async () => {
    const content = `a,1\nbb,2\n${'c'.repeat(40)},3\nd,4\ne,5\n`;
    const one = { columns: { name: 'b' }, keyColumn: null };
    const recordsOf = async (maxSourceBytes: number) =>
      (await cut(content, { upload: one, maxSourceBytes })).map(({ chunk }) => chunk.records);
    expect(await recordsOf('a,1\nbb,2'.length)).toEqual([2, 1, 2]);
    expect(await recordsOf('a,1\nbb,2'.length - 1)).toEqual([1, 1, 1, 2]);
    expect(await recordsOf(1)).toEqual([1, 1, 1, 1, 1]);
    expect(await recordsOf(content.length)).toEqual([5]);
  });

  it('count the bytes of the source over the borders of batches', async () => {
    const content = `${'x'.repeat(98)},1\n`.repeat(10_000);
    const chunks = await cut(content, { maxRecords: 100_000, maxSourceBytes: 400_000 });
    for (const { chunk } of chunks.slice(0, -1)) {
      expect(chunk.end.offset - chunk.start.offset).toBeGreaterThan(400_000 - 102);
      // Line ends at a border are not counted.
      expect(chunk.end.offset - chunk.start.offset).toBeLessThan(400_000 + 5);
    }
    expect(chunks.reduce((sum, { chunk }) => sum + chunk.records, 0)).toBe(10_000);
  });

  it('have as many bytes of the source as allowed, those of blank records between theirs counted, if asked', async () => {
    const one = { columns: { name: 'b' }, keyColumn: null };
    const content = `a,1\n${' , \n'.repeat(10)}b,2\nc,3\n`;
    const recordsOf = async (countsGaps: boolean, maxSourceBytes: number) =>
      (await cut(content, { upload: one, sentFields: [1], countsGaps, maxSourceBytes })).map(({ chunk }) => [
        chunk.firstRecord,
        chunk.lastRecord,
        chunk.records,
      ]);
    const split = [
      [11, 11, 1],
      [22, 23, 2],
    ];
    expect(await recordsOf(true, 40)).toEqual(split);
    expect(await recordsOf(true, 60)).toEqual([[11, 23, 3]]);
    expect(await recordsOf(false, 40)).toEqual([[11, 23, 3]]);
  });

  it('have the right last record where rejected ones lie between', async () => {
    const chunks = await cut('bad\na,1\nworse\nb,2\nbad\nc,3\n', { maxRecords: 2 });
    expect(chunks.map(({ chunk }) => [chunk.firstRecord, chunk.lastRecord, chunk.records])).toEqual([
      [12, 14, 2],
      [16, 16, 1],
    ]);
  });
});

it('a column that the source has not is named with its key', () => {
  const make = () => createUploadLayout(sourceOf(['a']), { columns: { name: 'b' }, keyColumn: null });
  expect(thrownBy(make)).toMatchObject({
    code: 'CONFIG_COLUMN_MISSING',
    message: expect.stringContaining('upload.columns.name'),
  });
});

describe('the longest record allowed', () => {
  it.each<[string, UploadOptions]>([
    ['sent once', { columns: { name: 'b' }, keyColumn: 'id' }],
    ['sent without key', { columns: { name: 'b', first: 'a' }, keyColumn: null }],
    ['with a column sent twice', { columns: { name: 'b', again: 'b', first: 'a' }, keyColumn: 'id' }],
  ])('fits into one chunk, %s', async (_, sent) => {
    const size = maxRecordBytes(sent, 2_000);
    // A comma within makes quotes necessary that the ; source did not need.
    const record = `;,${'x'.repeat(size - 2)}`;
    for (const { chunk } of await cut(`${record}\n${record}\n`, {
      delimiter: ';',
      maxBytes: 2_000,
      upload: sent,
    })) {
      expect(chunk.bytes).toBeLessThanOrEqual(2_000);
    }
  });
});
