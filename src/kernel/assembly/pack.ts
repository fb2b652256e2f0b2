// Packs bytes as LZ4 does, with offsets of three bytes, so that a repetition is found anywhere in a block: a token
// (four bits of literals, four bits of the match), more length bytes, the literals, the offset, more length bytes of
// the match. The last sequence has only literals.

import { copy } from './copy';

/** Shortest match. */
const MIN_MATCH: i32 = 6;
const MAX_OFFSET: i32 = (1 << 24) - 1;
/** No match begins within so many bytes before the end, because eight bytes are read at once. */
const END_BYTES: i32 = 8;
/** After so many misses (as a power of two) the step grows by one. */
const SKIP_LOG2: i32 = 6;
/** A prime, in two halves because a tool that reads this as TypeScript would round it. */
const MULTIPLIER: u64 = ((<u64>0x9e3779b1) << 32) | 0x85ebca87;

/** Address of the number in the table for the six bytes at an address. @param bytes eight bytes from there. */
function slotOf(bytes: u64, table: i32, shift: u64): i32 {
  return table + ((<i32>(((bytes << 16) * MULTIPLIER) >> shift)) << 2);
}

/**
 * Packs [from, to) to `out`, and returns where that ends. There must be room for the bytes, one more for each 255 of
 * them, and 96.
 *
 * @param begin address of the dictionary, which ends at `from`: bytes that repeat it are packed too.
 * @param table address of 2 ** tableBits numbers, all zero.
 */
export function pack(begin: i32, from: i32, to: i32, out: i32, table: i32, tableBits: i32): i32 {
  const shift = <u64>(64 - tableBits);
  const last = to - END_BYTES;
  // Values that repeat begin at whole numbers.
  for (let known = begin; known < from && known < last; known += 4) {
    store<i32>(slotOf(load<u64>(known), table, shift), known);
  }
  let literals = from;
  let misses = 1 << SKIP_LOG2;
  let at = from;
  while (at < last) {
    const bytes = load<u64>(at);
    const slot = slotOf(bytes, table, shift);
    // Zero is an empty slot.
    const candidate = load<i32>(slot);
    store<i32>(slot, at);
    if (candidate === 0 || at - candidate > MAX_OFFSET || (load<u64>(candidate) ^ bytes) << 16 !== 0) {
      at += misses++ >> SKIP_LOG2;
      continue;
    }
    misses = 1 << SKIP_LOG2;
    let match = MIN_MATCH;
    while (at + match < last) {
      const differing = load<u64>(candidate + match) ^ load<u64>(at + match);
      if (differing !== 0) {
        match += <i32>(ctz(differing) >> 3);
        break;
      }
      match += 8;
    }
    match = min(match, last - at);
    if (match < MIN_MATCH) break;
    out = writeLiterals(literals, at, out, match - MIN_MATCH);
    const offset = at - candidate;
    store<u16>(out, <u16>offset);
    store<u8>(out + 2, <u8>(offset >> 16));
    out += 3;
    if (match - MIN_MATCH >= 15) out = writeLength(match - MIN_MATCH - 15, out);
    at += match;
    literals = at;
  }
  return writeLiterals(literals, to, out, 0);
}

function writeLiterals(from: i32, to: i32, out: i32, match: i32): i32 {
  const size = to - from;
  store<u8>(out++, <u8>((min(size, 15) << 4) | min(match, 15)));
  if (size >= 15) out = writeLength(size - 15, out);
  return copy(from, to, out);
}

function writeLength(rest: i32, out: i32): i32 {
  for (; rest >= 255; rest -= 255) store<u8>(out++, 255);
  store<u8>(out++, <u8>rest);
  return out;
}

/**
 * Unpacks [from, to) to [out, end). Up to 64 bytes after both are read or overwritten. Returns whether all fits.
 *
 * @param begin address of the dictionary, which ends at `out`.
 */
export function unpack(begin: i32, from: i32, to: i32, out: i32, end: i32): bool {
  while (from < to) {
    const token = <i32>load<u8>(from++);
    let size = token >>> 4;
    if (size === 15) {
      let more = 255;
      while (more === 255) {
        if (from >= to) return false;
        more = <i32>load<u8>(from++);
        size += more;
      }
    }
    if (size > to - from || size > end - out) return false;
    out = copy(from, from + size, out);
    from += size;
    if (from === to) return out === end;
    const offset = <i32>load<u16>(from) | ((<i32>load<u8>(from + 2)) << 16);
    from += 3;
    let match = (token & 15) + MIN_MATCH;
    if (match === 15 + MIN_MATCH) {
      let more = 255;
      while (more === 255) {
        if (from >= to) return false;
        more = <i32>load<u8>(from++);
        match += more;
      }
    }
    if (offset === 0 || offset > out - begin || match > end - out) return false;
    const behind = out + match;
    if (offset >= 16) {
      for (let source = out - offset; out < behind; out += 16, source += 16) {
        v128.store(out, v128.load(source));
      }
    } else {
      for (; out < behind; out++) store<u8>(out, load<u8>(out - offset));
    }
    out = behind;
  }
  return false;
}

/** Writes the bytes of `count` numbers of 32 bits in four planes: all lowest bytes first. */
export function splitBytes(from: i32, count: i32, out: i32): void {
  for (let i = 0; i < count; i++) {
    const number = load<u32>(from + (i << 2));
    store<u8>(out + i, <u8>number);
    store<u8>(out + count + i, <u8>(number >> 8));
    store<u8>(out + 2 * count + i, <u8>(number >> 16));
    store<u8>(out + 3 * count + i, <u8>(number >> 24));
  }
}

/** Reads the planes that `splitBytes` writes. */
export function joinBytes(from: i32, count: i32, out: i32): void {
  for (let i = 0; i < count; i++) {
    const low = <u32>load<u8>(from + i) | ((<u32>load<u8>(from + count + i)) << 8);
    const high = <u32>load<u8>(from + 2 * count + i) | ((<u32>load<u8>(from + 3 * count + i)) << 8);
    store<u32>(out + (i << 2), low | (high << 16));
  }
}
