// Copies bytes sixty-four at a time. Up to 63 bytes after both ends are read or overwritten: there must be room.

import { BLOCK_BYTES, bitsBefore, bitsOf } from './block';
import { COMMA, CR, LF, QUOTE } from './bytes';

/** Room that is kept after what is written: more bytes than `copy` writes after its end. */
export const SPARE: i32 = 80;

/** Copies [from, to) to `out`, and returns the address after the copy. */
export function copy(from: i32, to: i32, out: i32): i32 {
  let at = from;
  for (; at < to; at += BLOCK_BYTES, out += BLOCK_BYTES) {
    const first = v128.load(at);
    const second = v128.load(at, 16);
    const third = v128.load(at, 32);
    const fourth = v128.load(at, 48);
    v128.store(out, first);
    v128.store(out, second, 16);
    v128.store(out, third, 32);
    v128.store(out, fourth, 48);
  }
  return out + to - at;
}

/** Copies if no byte is a CR; otherwise returns 0, and the bytes at `out` are undefined. */
export function copyUnlessReturn(from: i32, to: i32, out: i32): i32 {
  const returns = i8x16.splat(<i8>CR);
  let at = from;
  for (; at < to; at += BLOCK_BYTES, out += BLOCK_BYTES) {
    const first = v128.load(at);
    const second = v128.load(at, 16);
    const third = v128.load(at, 32);
    const fourth = v128.load(at, 48);
    v128.store(out, first);
    v128.store(out, second, 16);
    v128.store(out, third, 32);
    v128.store(out, fourth, 48);
    const found = v128.or(
      v128.or(i8x16.eq(first, returns), i8x16.eq(second, returns)),
      v128.or(i8x16.eq(third, returns), i8x16.eq(fourth, returns)),
    );
    // Rare, so it is checked again, now without the bytes after the end.
    if (v128.any_true(found) && (bitsOf(at, returns) & bitsBefore(at, to)) !== 0) return 0;
  }
  return out + to - at;
}

/** Copies if no byte needs quotes in a comma CSV; otherwise returns 0, and the bytes at `out` are undefined. */
export function copyPlain(from: i32, to: i32, out: i32): i32 {
  // The four special bytes, each at the index of its low four bits. Other entries equal no byte with such bits.
  const special = i8x16(1, 0, <i8>QUOTE, 0, 0, 0, 0, 0, 0, 0, <i8>LF, 0, <i8>COMMA, <i8>CR, 0, 0);
  const lowBits = i8x16.splat(15);
  let at = from;
  for (; at < to; at += 32, out += 32) {
    const first = v128.load(at);
    const second = v128.load(at, 16);
    v128.store(out, first);
    v128.store(out, second, 16);
    const low = i8x16.bitmask(i8x16.eq(i8x16.swizzle(special, v128.and(first, lowBits)), first));
    const high = i8x16.bitmask(i8x16.eq(i8x16.swizzle(special, v128.and(second, lowBits)), second));
    const bits = <u64>(<u32>(low | (high << 16)));
    if ((bits & bitsBefore(at, to)) !== 0) return 0;
  }
  return out + to - at;
}
