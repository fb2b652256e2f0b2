import { describe, expect, it } from 'vitest';
import { DigestKernel, KEY_ENTRY_INTS, ROW_ENTRY_INTS } from '../../../src/csv/kernel/digest-kernel.js';
import { scanBuffer } from '../../../src/csv/scan-records.js';
import type { Batch } from '../../../src/csv/table.js';

const secret = Uint8Array.from({ length: 16 }, (_, at) => at);

function batchOf(csv: string, fields: number, delimiter = ','): Batch {
  const options = { delimiter, fields, maxRecordBytes: 1000, file: 0, base: 0, firstRecord: 1 };
  const [batch] = scanBuffer(Buffer.from(csv), { ...options, onBadRecord: (bad) => expect(bad).toBe(null) });
  const { bytes, starts, ends } = batch!;
  return { ...batch!, bytes: bytes.slice(), starts: starts.slice(), ends: ends.slice() };
}

const hexOf = (entries: Int32Array, at: number, ints: number) =>
  Buffer.from(entries.slice(at, at + ints).buffer).toString('hex');

function rows(csv: string, fields: number, keyFields: readonly number[]) {
  const kernel = new DigestKernel(secret, keyFields);
  const batch = batchOf(csv, fields);
  const { entries, texts } = kernel.rows(batch);
  const found = Array.from({ length: batch.count }, (_, row) => ({
    key: hexOf(entries, row * ROW_ENTRY_INTS, 4),
    row: hexOf(entries, row * ROW_ENTRY_INTS + 4, 4),
    number: entries[row * ROW_ENTRY_INTS + 8],
  }));
  const text = Buffer.from(texts).toString('latin1');
  kernel.release();
  return { found, text };
}

/** `openssl mac -macopt hexkey:000102030405060708090a0b0c0d0e0f -macopt size:16 SIPHASH` */
const VECTORS = [
  '0ea4f2fb02ad21d92d5fc91684f26426',
  '5594f7eaed3f0d1da681551476ccbede',
  '8c93e201ac8e8396897e3133e447eda3',
  'acc5efb3f1b7c766b7498501d048d03f',
];

describe('rows', () => {
  it('have the hashes of SipHash-2-4-128, as OpenSSL computes them', () => {
    const { found } = rows('a\nabcdefg\nabcdefgh\nabcdefghijklmno\n', 1, [0]);
    expect(found.map(({ row }) => row)).toEqual(VECTORS);
  });

  it('are numbered from the batch, and have the raw fields of their keys', () => {
    const { found, text } = rows('a,"b,1",c\nd,e,f\n', 3, [1, 0]);
    expect(found.map(({ number }) => number)).toEqual([1, 2]);
    expect(text).toBe('\x05\0\0\0"b,1"\x01\0\0\0a\x01\0\0\0e\x01\0\0\0d');
  });

  it('have equal hashes if their values are equal, however they are quoted; an empty text is not the same as no value', () => {
    const { found } = rows('a,b\n"a",b\n"a","b"\n"a,",b\na,""\na,\n', 2, [0]);
    expect(found[1]).toEqual({ ...found[0], number: 2 });
    expect(found[2]).toEqual({ ...found[0], number: 3 });
    expect(found[3]!.key).not.toBe(found[0]!.key);
    expect(found[5]!.key).toBe(found[4]!.key);
    expect(new Set(found.map(({ row }) => row)).size).toBe(4);
  });

  it('have different hashes if values move from one field to another', () => {
    const { found } = rows('ab,c\na,bc\n"a,b",c\na,"b,c"\n"""a""",b\na,b\n', 2, [0, 1]);
    expect(new Set(found.map(({ row }) => row)).size).toBe(6);
    expect(new Set(found.map(({ key }) => key)).size).toBe(6);
  });
});

describe('keys', () => {
  it('are equal by value in every dialect', () => {
    const kernel = new DigestKernel(secret, [1]);
    const one = hexOf(kernel.keys(batchOf('x;a,b\n', 2, ';')).entries, 0, 4);
    const other = hexOf(kernel.keys(batchOf('y,"a,b"\n', 2)).entries, 0, 4);
    expect(other).toBe(one);
    kernel.release();
  });

  it('name the first record with a blank column', () => {
    const kernel = new DigestKernel(secret, [0, 1]);
    expect(kernel.keys(batchOf('a,b\nc,d\n', 2)).blank).toBeUndefined();
    expect(kernel.keys(batchOf('a,b\nc," "\n,\n', 2)).blank).toEqual({ row: 1, field: 1 });
    const { entries } = kernel.keys(batchOf('a,b\nc,d\n', 2));
    expect([entries[4], entries[4 + KEY_ENTRY_INTS]]).toEqual([1, 2]);
    kernel.release();
  });
});
