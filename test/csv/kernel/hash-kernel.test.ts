/** The hashes of records: those of SipHash-2-4-128 over what an upload holds. */
import { describe, expect, it } from 'vitest';
import { HashKernel } from '../../../src/csv/kernel/hash-kernel.js';
import { UploadKernel } from '../../../src/csv/kernel/upload-kernel.js';
import type { Batch, Table } from '../../../src/csv/table.js';
import { blockOf } from '../../helpers/csv/result-parts.js';
import { sipHash128 } from '../../helpers/csv/sip-hash.js';

const key = Uint8Array.from({ length: 16 }, (_, i) => i);
const COMMA = 44;

/** From the authors' vectors.h: key 00 to 0f, the bytes 00, 01, ... of these lengths. */
const vectors: readonly (readonly [number, string])[] = [
  [0, 'a3817f04ba25a8e66df67214c7550293'],
  [1, 'da87c1d86b99af44347659119b22fc45'],
  [2, '8177228da4a45dc7fca38bdef60affe4'],
  [3, '9c70b60c5267a94e5f33b6b02985ed51'],
  [4, 'f88164c12d9c8faf7d0f6e7c7bcd5579'],
  [5, '1368875980776f8854527a07690e9627'],
  [6, '14eeca338b208613485ea0308fd7a15e'],
  [7, 'a1f1ebbed8dbc153c0b84aa61ff08239'],
  [8, '3b62a9ba6258f5610f83e264f31497b4'],
  [9, '264499060ad9baabc47f8b02bb6d71ed'],
  [10, '00110dc378146956c95447d3f3d0fbba'],
  [15, '5493e99933b0a8117e08ec0f97cfc3d9'],
  [16, '6ee2a4ca67b054bbfd3315bf85230577'],
  [17, '473d06e8738db89854c066c47ae47740'],
  [31, '2939b0183223fafc1723de4f52c43d35'],
  [32, '7c3956ca5eeafc3e363e9d556546eb68'],
  [63, '5150d1772f50834a503e069a973fbd7c'],
];
const counting = (length: number) => Uint8Array.from({ length }, (_, i) => i);

function hashesOf(table: Table, fields: readonly number[], delimiter = COMMA, sliceBytes?: number): string[] {
  const hashes = new HashKernel(key, fields, delimiter, sliceBytes).hash(table);
  return Array.from({ length: table.count }, (_, row) =>
    Buffer.from(hashes.slice(row * 4, row * 4 + 4).buffer).toString('hex'),
  );
}

/** One row of one field. */
function single(bytes: Uint8Array): Table {
  return { bytes, count: 1, fields: 1, starts: Int32Array.of(0), ends: Int32Array.of(bytes.length) };
}

describe('SipHash', () => {
  it.each(vectors)('of %s bytes is that of its authors, in plain numbers', (length, expected) => {
    expect(sipHash128(key, counting(length)).toString('hex')).toBe(expected);
  });

  // The tenth byte is a line feed, which would get quotes.
  it.each(vectors.slice(1, 11))('of %s bytes is that of its authors, in the kernel', (length, expected) => {
    expect(hashesOf(single(counting(length)), [0])).toEqual([expected]);
  });

  it('of any length is the same in the kernel and in plain numbers', () => {
    for (let length = 1; length <= 300; length++) {
      const bytes = Uint8Array.from({ length }, (_, i) => 0x61 + ((i * 7 + length) % 26));
      expect(hashesOf(single(bytes), [0])).toEqual([sipHash128(key, bytes).toString('hex')]);
    }
  });
});

describe('the hash of a record', () => {
  const rows: [string, string, string][] = [
    ['id1', 'plain', 'city'],
    ['id2', '"a, b"', '"say ""x"""'],
    ['id3', '"two\nlines"', ''],
    ['id4', 'lone\rreturn', 'ü'],
    ['id5', 'x'.repeat(200_000), 'large'],
    ['id6', '', 'last'],
  ];
  const text = (delimiter: string) => rows.map((row) => `${row.join(delimiter)}\n`).join('');
  const blockWith = (delimiter: string) => blockOf(text(delimiter), { fields: 3, delimiter });

  it.each([',', ';'])(
    'with %s is that of its bytes in an uploaded file, in any order of fields',
    async (delimiter) => {
      const byte = delimiter.charCodeAt(0);
      const block = await blockWith(delimiter);
      for (const fields of [[1, 2], [2, 1], [1], [0, 1, 2], [2, 0]]) {
        const upload = new UploadKernel({
          header: new Uint8Array(0),
          hasKey: false,
          fields,
          delimiter: byte,
        });
        const expected = Array.from({ length: block.count }, (_, at) => {
          upload.clear();
          const batch: Batch = { ...block, file: 0, base: 0 };
          upload.write(batch, at, at + 1, true, 10_000_000);
          return sipHash128(key, upload.file.subarray(0, -1)).toString('hex');
        });
        if (fields.length === 1) expected[5] = '0'.repeat(32);
        expect(hashesOf(block, fields, byte)).toEqual(expected);
      }
    },
  );

  it.each([
    ['"a","b"', 'a,b'],
    ['a,""', 'a,'],
    ['"a, b","c"', '"a, b",c'],
    ['"say ""x""","c"', '"say ""x""",c'],
    ['"lone\rreturn",c', 'lone\rreturn,c'],
  ])('of %j is that of %j: quotes that a field does not need make no difference', async (one, other) => {
    const [quoted, plain] = await Promise.all(
      [one, other].map((record) => blockOf(`id,${record}\n`, { fields: 3 })),
    );
    expect(hashesOf(quoted!, [1, 2])).toEqual(hashesOf(plain!, [1, 2]));
    const values = await blockOf('id;"a";b\n', { fields: 3, delimiter: ';' });
    const same = one === '"a","b"';
    expect(hashesOf(quoted!, [1, 2])[0] === hashesOf(values, [1, 2], 59)[0]).toBe(same);
  });

  it('is the same however many records are loaded at once', async () => {
    const block = await blockWith(',');
    for (const sliceBytes of [1, 20, 40, 100_000]) {
      expect(hashesOf(block, [1, 2], COMMA, sliceBytes)).toEqual(hashesOf(block, [1, 2]));
    }
  });

  it('is the same in the uploaded file, whose fields come after the key', async () => {
    const block = await blockWith(';');
    const upload = new UploadKernel({
      header: new Uint8Array(0),
      hasKey: true,
      fields: [2, 1],
      delimiter: 59,
    });
    upload.write({ ...block, file: 0, base: 0 }, 0, block.count, true, 10_000_000);
    const sent = await blockOf(upload.file.toString(), { fields: 3 });
    expect(hashesOf(sent, [1, 2])).toEqual(hashesOf(block, [2, 1], 59));
  });

  it.each([
    ['""," "', true],
    [' ,\t', true],
    ['"\n ",""', true],
    ['"""",', false],
    ['",",', false],
    ['\u00a0,', true],
    ['\u2003\u3000,"\ufeff"', true],
    ['\u200b,', false],
    ['0,', false],
  ])('of %j is zero only if all fields are blank', async (record, isBlank) => {
    const block = await blockOf(`id,${record}\n`, { fields: 3 });
    expect(hashesOf(block, [1, 2])[0] === '0'.repeat(32)).toBe(isBlank);
  });

  it('depends on the key and on where a field ends', async () => {
    const block = await blockOf('ab,c\na,bc\n', { fields: 2 });
    const [first, second] = hashesOf(block, [0, 1]);
    expect(first).not.toBe(second);
    const other = new HashKernel(new Uint8Array(16), [0, 1], COMMA).hash(block);
    expect(Buffer.from(other.slice(0, 4).buffer).toString('hex')).not.toBe(first);
  });
});
