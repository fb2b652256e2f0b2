import { describe, expect, it } from 'vitest';
import { scanRecords } from '../../src/csv/scan-records.js';
import { fieldText } from '../../src/csv/table.js';
import {
  type BlockReader,
  createBlockReader,
  type RecordBlock,
  sliceOfBlock,
} from '../../src/source/record-block.js';

const scan = (content: string, sentFields?: readonly number[]) =>
  scanRecords([Buffer.from(content)], {
    delimiter: ',',
    fields: 2,
    maxRecordBytes: 1_000_000,
    file: 0,
    base: 100,
    firstRecord: 5,
    ...(sentFields && { sentFields }),
    onBadRecord: () => undefined,
  });

function valuesOf(block: RecordBlock): string[][] {
  return Array.from({ length: block.count }, (_, r) => [
    String(block.numbers[r]),
    fieldText(block.bytes, block.starts[r]!, block.ends[2 * r]!),
    fieldText(block.bytes, block.ends[2 * r]! + 1, block.ends[2 * r + 1]!),
  ]);
}

async function takeAll(reader: BlockReader, sizes: readonly number[]): Promise<string[][]> {
  const values: string[][] = [];
  for (const size of sizes) values.push(...valuesOf(await reader.take(size)));
  return values;
}

describe('blocks', () => {
  it('have as many records as asked for, fewer only at the end', async () => {
    const reader = createBlockReader(scan('a,1\n"b\nb",2\nc,3\n'));
    expect(valuesOf(await reader.take(2))).toEqual([
      ['5', 'a', '1'],
      ['6', 'b\nb', '2'],
    ]);
    expect(valuesOf(await reader.take(2))).toEqual([['7', 'c', '3']]);
    expect(await reader.take(2)).toMatchObject({ count: 0 });
  });

  it('number records by their position in the source, rejected ones counted', async () => {
    const reader = createBlockReader(scan('a,1\nbad\nb,2\nworse,and,worse\nc,3\n'));
    expect((await takeAll(reader, [2, 1])).map(([number]) => number)).toEqual(['5', '7', '9']);
  });

  it('know where each record ends in the source, and which are blank', async () => {
    const reader = createBlockReader(scan('a,1\nbad\n,\nb,2\nc,3\n', [0, 1]));
    const first = await reader.take(2);
    expect(first).toMatchObject({ blank: [1], end: { file: 0, offset: 109 } });
    expect(valuesOf(first)).toEqual([
      ['5', 'a', '1'],
      ['7', '', ''],
    ]);
    expect(first.endOf(0)).toEqual({ file: 0, offset: 103 });
    const second = sliceOfBlock(first, 1, 2);
    expect(valuesOf(second)).toEqual([['7', '', '']]);
    expect(second).toMatchObject({ blank: [0], end: { offset: 109 } });
    expect(second.endOf(0)).toEqual({ file: 0, offset: 109 });
    const next = await reader.take(2);
    expect(next).toMatchObject({ blank: [], end: { offset: 117 } });
    expect(next.endOf(0)).toEqual({ file: 0, offset: 113 });
    expect(await reader.take(2)).toMatchObject({ count: 0, end: undefined });
  });

  it('end with the last record that may be taken, and continue with the record that is skipped to', async () => {
    const reader = createBlockReader(scan('a,1\nbad\nb,2\nc,3\nd,4\n'));
    const numbers = async (upTo: number) => [...(await reader.take(4, { upTo })).numbers];
    expect(await numbers(6)).toEqual([5]);
    expect(await numbers(6)).toEqual([]);
    await reader.skipTo(6);
    expect(await numbers(7)).toEqual([7]);
    await reader.skipTo(9);
    await reader.skipTo(8);
    expect(await numbers(9)).toEqual([9]);
    await reader.skipTo(10);
    expect(await numbers(10)).toEqual([]);
  });

  it('span batches of any size', async () => {
    const filler = 'x'.repeat(500);
    const expected = Array.from({ length: 5_000 }, (_, i) => [String(i + 5), `n${i}`, filler]);
    const content = expected.map(([, name]) => `${name},${filler}\n`).join('');
    for (const sizes of [[5_000], [1, 1_000, 2_999, 1_000], [4_999, 1]]) {
      expect(await takeAll(createBlockReader(scan(content)), sizes)).toEqual(expected);
    }
  });

  it('have as many bytes as allowed, or one record', async () => {
    const filler = 'x'.repeat(98);
    const content = `${filler},1\n`.repeat(6_000);
    const reader = createBlockReader(scan(content));
    const counts: number[] = [];
    for (;;) {
      const { count } = await reader.take(5_000, { maxBytes: 50_000 });
      if (count === 0) break;
      counts.push(count);
    }
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(6_000);
    expect(Math.max(...counts)).toBeLessThan(500);
    expect(Math.min(...counts.slice(0, -1))).toBeGreaterThan(480);
    expect(await takeAll(createBlockReader(scan('a,1\nb,2\n')), [1, 1])).toHaveLength(2);
    expect(await createBlockReader(scan('aaaa,1\nb,2\n')).take(2, { maxBytes: 3 })).toMatchObject({
      count: 1,
    });
  });

  it('of more bytes than their offsets can address are refused', async () => {
    const huge = async function* () {
      yield* scan('a,1\n');
      const [starts, ends] = [Int32Array.of(0), Int32Array.of(1, 2 ** 31 - 1)];
      const bytes = new Uint8Array(0);
      yield { file: 0, bytes, base: 0, numbers: Int32Array.of(6), count: 1, fields: 2, starts, ends };
    };
    await expect(createBlockReader(huge()).take(2)).rejects.toMatchObject({
      code: 'MEMORY_LIMIT',
      message: expect.stringContaining('record 6'),
      hint: expect.stringContaining('chunks.maxBytes'),
    });
  });

  it('may be small after a large one', async () => {
    const large = 'y'.repeat(700_000);
    const reader = createBlockReader(scan(`a,${large}\nb,2\nc,3\n`));
    expect(valuesOf(await reader.take(1))).toEqual([['5', 'a', large]]);
    expect(await takeAll(reader, [1, 1])).toEqual([
      ['6', 'b', '2'],
      ['7', 'c', '3'],
    ]);
  });
});

it('closing the reader closes what it reads from', async () => {
  let closed = false;
  const batches = async function* () {
    try {
      yield* scan('a,1\nb,2\n');
    } finally {
      closed = true;
    }
  };
  const reader = createBlockReader(batches());
  await reader.take(1);
  await reader.close();
  expect(closed).toBe(true);
});
