/** Fields so large that the sum over the columns of one record exceeds 32 bits. */
import { describe, expect, it } from 'vitest';
import { COMMA } from '../../../src/csv/bytes.js';
import { RowsKernel } from '../../../src/csv/kernel/rows-kernel.js';
import { UploadKernel } from '../../../src/csv/kernel/upload-kernel.js';
import type { Batch } from '../../../src/csv/table.js';

const MB = 1024 * 1024;
const FIELDS = 25;
/** Bytes of the first field, and of the last one. */
const LARGE = 45 * MB;
const semicolon = 0x3b;
/** Fields from last to first: no two of them are copied at once. */
const reversed = Array.from({ length: FIELDS }, (_, field) => FIELDS - 1 - field);
const small = 'x'.repeat(FIELDS - 2).split('');

/** Records whose first fields repeat the first letter, their last ones the second. */
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
  const numbers = Int32Array.from(letters, (_, at) => at + 1);
  return { file: 0, base: 0, numbers, bytes, count: letters.length, fields: FIELDS, starts, ends };
}

/** Each run of a letter of a large field as the letter, with its length in units of `LARGE`. */
function outlineOf(bytes: Buffer): string {
  const outline: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const letter = bytes.subarray(at, at + 1);
    if (bytes.subarray(at, at + 3).equals(Buffer.alloc(3, letter))) {
      // Of the right length, and each byte equal to the one before it.
      const isWhole = bytes.subarray(at, at + LARGE - 1).equals(bytes.subarray(at + 1, at + LARGE));
      outline.push(isWhole ? letter.toString().toUpperCase() : `broken ${letter}`);
      at += isWhole ? LARGE : bytes.length;
    } else {
      outline.push(letter.toString());
      at += 1;
    }
  }
  return outline.join('');
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
    const kernel = new RowsKernel({ chosen: [0], delimiter: COMMA, numbered: false });
    const bytes = Buffer.from('1\n2\n');
    const records = { bytes, count: 2, fields: 1, starts: Int32Array.of(0, 2), ends: Int32Array.of(1, 3) };
    const results = recordsOf(COMMA, [
      ['e', 'f'],
      ['g', 'h'],
    ]);
    const part = new Int32Array(2);
    const rows = kernel.write(
      records,
      [
        {
          ...results,
          answers: reversed,
          lead: Buffer.from(',OK'),
          tail: new Uint8Array(0),
          end: new Uint8Array(0),
        },
      ],
      { part, result: Int32Array.of(1, 0), numbers: part },
      () => expect.unreachable(),
    );
    expect(outlineOf(rows)).toBe(`1,OK,H${inner}G\n2,OK,F${inner}E\n`);
  });

  it('are written in pieces where the rows of a chunk are many', () => {
    const letters = ['ab', 'cd', 'ef'].map((two) => [two[0]!, two[1]!] as const);
    const kernel = new RowsKernel({ chosen: reversed, delimiter: COMMA, numbered: true });
    const part = Int32Array.of(0, 1, 0);
    const numbers = Int32Array.of(1, 2, 3);
    const none = {
      ...recordsOf(COMMA, []),
      lead: Buffer.from(',OK,'),
      tail: new Uint8Array(0),
      end: new Uint8Array(0),
    };
    const rows = kernel.write(
      recordsOf(COMMA, letters),
      [
        { ...none, answers: [] },
        { ...none, answers: null },
      ],
      { part, result: part, numbers },
      (row) => Buffer.from(`,other ${row}\n`),
    );
    expect(outlineOf(rows)).toBe(`B${inner}A,OK,1\nD${inner}C,other 1\nF${inner}E,OK,3\n`);
  });

  it('end with an error, not a loop, where a row cannot fit', () => {
    const chosen = Array.from({ length: 50 }, () => 0);
    const kernel = new RowsKernel({ chosen, delimiter: semicolon, numbered: false });
    const part = new Int32Array(1);
    const none = {
      ...recordsOf(COMMA, []),
      answers: [],
      lead: Buffer.from(',OK'),
      tail: Buffer.from(''),
      end: Buffer.from(''),
    };
    const order = { part, result: part, numbers: part };
    const write = () =>
      kernel.write(recordsOf(semicolon, [['a', 'b']]), [none], order, () => expect.unreachable());
    expect(write).toThrow(expect.objectContaining({ code: 'MEMORY_LIMIT', exitCode: 2 }));
  });
});
