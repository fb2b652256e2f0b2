/** Fields so large that sums over the columns of one record pass 32 bits. */
import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/csv/batch.js';
import { RowsKernel } from '../../../src/csv/kernel/rows-kernel.js';
import { UploadKernel } from '../../../src/csv/kernel/upload-kernel.js';

const MB = 1024 * 1024;
const FIELDS = 25;
/** Of the first field, and of the last one. */
const LARGE = 45 * MB;
const comma = 0x2c;
const semicolon = 0x3b;
/** From the last to the first: none stands where it would be copied together with another. */
const reversed = Array.from({ length: FIELDS }, (_, field) => FIELDS - 1 - field);
const small = 'x'.repeat(FIELDS - 2).split('');

/** Records whose first fields are made of the first letter, their last ones of the second. */
function recordsOf(delimiter: number, letters: readonly (readonly [string, string])[]): Batch {
  const between = String.fromCharCode(delimiter);
  const inner = `${between}${small.join(between)}${between}`;
  const length = 2 * LARGE + inner.length;
  const bytes = Buffer.alloc(letters.length * (length + 1), '\n');
  const starts = new Int32Array(letters.length);
  const ends = new Int32Array(letters.length * FIELDS);
  for (const [record, [first, last]] of letters.entries()) {
    const start = record * (length + 1);
    starts[record] = start;
    bytes.fill(first, start, start + LARGE);
    bytes.write(inner, start + LARGE);
    bytes.fill(last, start + LARGE + inner.length, start + length);
    for (let field = 0; field < FIELDS - 1; field++)
      ends[record * FIELDS + field] = start + LARGE + 2 * field;
    ends[record * FIELDS + FIELDS - 1] = start + length;
  }
  return { file: 0, base: 0, firstRecord: 1, bytes, count: letters.length, fields: FIELDS, starts, ends };
}

/** Each run of a letter of a large field as the letter, with its length in units of `LARGE`. */
function outlineOf(bytes: Buffer): string {
  const told: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const letter = bytes.subarray(at, at + 1);
    if (bytes.subarray(at, at + 3).equals(Buffer.alloc(3, letter))) {
      // As long as it should be, and each byte the one before it.
      const isWhole = bytes.subarray(at, at + LARGE - 1).equals(bytes.subarray(at + 1, at + LARGE));
      told.push(isWhole ? letter.toString().toUpperCase() : `broken ${letter}`);
      at += isWhole ? LARGE : bytes.length;
    } else {
      told.push(letter.toString());
      at += 1;
    }
  }
  return told.join('');
}

const inner = `,${small.join(',')},`;

describe('90 MB in 25 columns', () => {
  it('stay in their own record of an uploaded file', () => {
    const batch = recordsOf(semicolon, [
      ['a', 'b'],
      ['c', 'd'],
    ]);
    const header = Buffer.from('H\n');
    const kernel = new UploadKernel({ header, hasKey: true, fields: reversed, delimiter: semicolon });
    expect(kernel.write(batch, 0, 2, true, 512 * MB)).toBe(2);
    expect(outlineOf(kernel.file)).toBe(`H\n1,B${inner}A\n2,D${inner}C\n`);
  });

  it('stay in their own row', () => {
    const kernel = new RowsKernel({ chosen: [0], delimiter: comma, numbered: false });
    const bytes = Buffer.from('1\n2\n');
    const records = { bytes, count: 2, fields: 1, starts: Int32Array.of(0, 2), ends: Int32Array.of(1, 3) };
    const results = recordsOf(comma, [
      ['e', 'f'],
      ['g', 'h'],
    ]);
    const part = new Int32Array(2);
    const rows = kernel.write(
      records,
      [{ ...results, answers: reversed, lead: Buffer.from(',OK'), tail: new Uint8Array(0) }],
      { part, result: Int32Array.of(1, 0), numbers: part },
      () => expect.unreachable(),
    );
    expect(outlineOf(rows)).toBe(`1,OK,H${inner}G\n2,OK,F${inner}E\n`);
  });

  it('are written in pieces where the rows of a chunk are many', () => {
    const letters = ['ab', 'cd', 'ef'].map((two) => [two[0]!, two[1]!] as const);
    const kernel = new RowsKernel({ chosen: reversed, delimiter: comma, numbered: true });
    const part = Int32Array.of(0, 1, 0);
    const numbers = Int32Array.of(1, 2, 3);
    const none = { ...recordsOf(comma, []), lead: Buffer.from(',OK,'), tail: new Uint8Array(0) };
    const rows = kernel.write(
      recordsOf(comma, letters),
      [
        { ...none, answers: [] },
        { ...none, answers: null },
      ],
      { part, result: part, numbers },
      (row) => Buffer.from(`,other ${row}\n`),
    );
    expect(outlineOf(rows)).toBe(`B${inner}A,OK,1\nD${inner}C,other 1\nF${inner}E,OK,3\n`);
  });

  it('are no reason to spin where a row cannot fit: the error says so', () => {
    const chosen = Array.from({ length: 50 }, () => 0);
    const kernel = new RowsKernel({ chosen, delimiter: semicolon, numbered: false });
    const part = new Int32Array(1);
    const none = { ...recordsOf(comma, []), answers: [], lead: Buffer.from(',OK'), tail: Buffer.from('') };
    const order = { part, result: part, numbers: part };
    const write = () =>
      kernel.write(recordsOf(semicolon, [['a', 'b']]), [none], order, () => expect.unreachable());
    expect(write).toThrow(expect.objectContaining({ code: 'MEMORY_LIMIT', exitCode: 2 }));
  });
});
