import { expect, it } from 'vitest';
import { HASH_BYTES, ROW_ENTRY_INTS } from '../../src/csv/kernel/digest-kernel.js';
import { createDigestWriter, DamagedDigestsError, openDigestReader } from '../../src/delta/digest-file.js';
import { BUCKETS } from '../../src/streams/hash-buckets.js';

/** The file of two rows. */
function written(): Buffer {
  const pieces: Buffer[] = [];
  const secret = Buffer.alloc(HASH_BYTES, 7);
  const writer = createDigestWriter(secret, ROW_ENTRY_INTS, (piece) => pieces.push(Buffer.from(piece)));
  writer.add({
    entries: Int32Array.from({ length: 2 * ROW_ENTRY_INTS }, (_, at) => at),
    texts: Buffer.from('ab'),
  });
  writer.end();
  return Buffer.concat(pieces);
}

async function readAll(file: Buffer): Promise<number> {
  const read = async (position: number, into: Uint8Array) =>
    file.copy(into, 0, position, position + into.length);
  const reader = await openDigestReader({ size: file.length, read, close: async () => undefined });
  const into = new Int32Array(reader.largest.rows * reader.largest.ints);
  let rows = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) rows += await reader.bucket(bucket, into);
  for await (const { count } of reader.texts(() => true)) rows += count;
  return rows;
}

it('a file of row digests with any byte changed, or without its last one, is damaged', async () => {
  const file = written();
  expect(await readAll(file)).toBe(4);
  await expect(readAll(file.subarray(0, -1))).rejects.toThrow(DamagedDigestsError);
  for (let at = 0; at < file.length; at++) {
    const changed = Buffer.from(file);
    changed[at]! ^= 1;
    await expect(readAll(changed), `byte ${at}`).rejects.toThrow(DamagedDigestsError);
  }
});
