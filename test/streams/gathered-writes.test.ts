import { describe, expect, it } from 'vitest';
import { GatheredWrites } from '../../src/streams/gathered-writes.js';

const KIB = 1024;

/** Collects what is written, as copies. */
function collect() {
  const written: Buffer[] = [];
  const writes = new GatheredWrites((bytes) => written.push(Buffer.from(bytes)));
  return { written, writes };
}

describe('GatheredWrites', () => {
  it('writes small pieces together, in their order, at multiples of its size', () => {
    const { written, writes } = collect();
    const pieces = Array.from({ length: 100 }, (_, at) => Buffer.alloc(10_000 + at, at));
    for (const piece of pieces) writes.add(piece);
    writes.flush();
    expect(Buffer.concat(written).equals(Buffer.concat(pieces))).toBe(true);
    expect(written.slice(0, -1).every(({ length }) => length === 256 * KIB)).toBe(true);
  });

  it('takes a piece that is larger than its room', () => {
    const { written, writes } = collect();
    const piece = Buffer.from(Array.from({ length: 600 * KIB }, (_, at) => at % 251));
    writes.add(Buffer.from('before'));
    writes.add(piece);
    writes.flush();
    expect(Buffer.concat(written).equals(Buffer.concat([Buffer.from('before'), piece]))).toBe(true);
  });

  it('writes nothing without a piece, and nothing twice', () => {
    const { written, writes } = collect();
    writes.flush();
    expect(written).toEqual([]);
    writes.add(Buffer.from('a'));
    writes.flush();
    writes.flush();
    expect(written.map(String)).toEqual(['a']);
  });
});
