// Looks at sixty-four bytes at once: a u64 has one bit for each, the lowest for the first byte.

/** Bytes of a block. All of them are read, even if fewer are used. */
export const BLOCK_BYTES: i32 = 64;

/** Which bytes of the block at `at` equal a byte; `byte` holds it sixteen times. */
export function bitsOf(at: i32, byte: v128): u64 {
  const low =
    i8x16.bitmask(i8x16.eq(v128.load(at), byte)) | (i8x16.bitmask(i8x16.eq(v128.load(at, 16), byte)) << 16);
  const high =
    i8x16.bitmask(i8x16.eq(v128.load(at, 32), byte)) |
    (i8x16.bitmask(i8x16.eq(v128.load(at, 48), byte)) << 16);
  return <u64>(<u32>low) | ((<u64>(<u32>high)) << 32);
}

/** Which bytes of the block at `at` are before `to`, an address after `at`. */
export function bitsBefore(at: i32, to: i32): u64 {
  return to - at < BLOCK_BYTES ? ((<u64>1) << (<u64>(to - at))) - 1 : ~(<u64>0);
}

/** For each bit: whether an odd number of bits is set up to and including it. */
export function oddUpTo(bits: u64): u64 {
  bits ^= bits << 1;
  bits ^= bits << 2;
  bits ^= bits << 4;
  bits ^= bits << 8;
  bits ^= bits << 16;
  return bits ^ (bits << 32);
}

/** Whether a byte is in [from, to). */
export function hasByte(from: i32, to: i32, byte: i32): bool {
  const bytes = i8x16.splat(<i8>byte);
  for (let at = from; at < to; at += BLOCK_BYTES) {
    if ((bitsOf(at, bytes) & bitsBefore(at, to)) !== 0) return true;
  }
  return false;
}

/** Whether `size` bytes are equal, sixteen at a time; up to 15 after them are read. */
export function areSame(a: i32, b: i32, size: i32): bool {
  let at = 0;
  for (; at + 16 <= size; at += 16) {
    if (v128.any_true(v128.xor(v128.load(a + at), v128.load(b + at)))) return false;
  }
  if (at === size) return true;
  const wanted = (1 << (size - at)) - 1;
  return (i8x16.bitmask(i8x16.eq(v128.load(a + at), v128.load(b + at))) & wanted) === wanted;
}
