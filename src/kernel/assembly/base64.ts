// Decodes the text of a JSON string that must be strict base64 (RFC 4648, section 4), sixteen characters at a time.
// Any character may be written as a JSON escape (RFC 8259, section 7).

import { QUOTE } from './bytes';

/** Where the call stopped: before four characters that are incomplete, or after the closing quote. */
export let textEnd: i32 = 0;
/** Where the decoded bytes end. */
export let decodedEnd: i32 = 0;

// What the next four characters are; streams/base64-json.ts has the same numbers.
const WHOLE: i32 = 0;
const CUT: i32 = 1;
const CLOSED: i32 = 2;
const STRANGE: i32 = 3;
const BAD_END: i32 = 4;
const BAD_ESCAPE: i32 = 5;

const BACKSLASH: i32 = 0x5c;
const SLASH: i32 = 0x2f;
const PADDING: i32 = 0x3d;
const U: i32 = 0x75;

/**
 * Decodes [from, to) until its end, the closing quote, or an error. Writes up to 16 bytes at once.
 *
 * @param out address of the decoded bytes.
 * @returns what the four characters are at which it stopped; never `WHOLE`.
 */
export function decodeBase64(from: i32, to: i32, out: i32): i32 {
  textEnd = from;
  decodedEnd = out;
  let found = WHOLE;
  while (found === WHOLE) {
    decodeBlocks(to);
    found = decodeFour(to);
  }
  return found;
}

/** Decodes plain characters sixteen at a time, and the complete fours before the first that is not plain. */
function decodeBlocks(to: i32): void {
  let at = textEnd;
  let out = decodedEnd;
  // Two blocks at once: the constants stay in registers for both.
  for (; at + 32 <= to; at += 32, out += 24) {
    const first = v128.load(at);
    const second = v128.load(at, 16);
    if (v128.any_true(v128.or(strangeIn(first), strangeIn(second)))) break;
    v128.store(out, decodedBlock(first));
    v128.store(out, decodedBlock(second), 12);
  }
  for (; at + 16 <= to; at += 16, out += 12) {
    const block = v128.load(at);
    v128.store(out, decodedBlock(block));
    const strange = strangeIn(block);
    if (v128.any_true(strange)) {
      const plain = ctz(i8x16.bitmask(i8x16.ne(strange, i8x16.splat(0)))) >> 2;
      at += plain << 2;
      out += plain * 3;
      break;
    }
  }
  textEnd = at;
  decodedEnd = out;
}

/** Zero where a character is in the alphabet. Looks up its low and its high four bits, and combines what they allow. */
function strangeIn(block: v128): v128 {
  const lows = i8x16(21, 17, 17, 17, 17, 17, 17, 17, 17, 17, 19, 26, 27, 27, 27, 26);
  const highs = i8x16(16, 16, 1, 2, 4, 8, 4, 8, 16, 16, 16, 16, 16, 16, 16, 16);
  const fourBits = i8x16.splat(15);
  const high = v128.and(i16x8.shr_u(block, 4), fourBits);
  return v128.and(i8x16.swizzle(lows, v128.and(block, fourBits)), i8x16.swizzle(highs, high));
}

/** The twelve bytes of sixteen characters that are in the alphabet. */
function decodedBlock(block: v128): v128 {
  // What to add to a character for its value, by its high four bits; `/` uses the entry before that of `+`.
  const shifts = i8x16(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0);
  const high = v128.and(i16x8.shr_u(block, 4), i8x16.splat(15));
  const shift = i8x16.swizzle(shifts, i8x16.add(high, i8x16.eq(block, i8x16.splat(<i8>SLASH))));
  const values = i8x16.add(block, shift);
  const pairs = v128.and(v128.or(i16x8.shl(values, 6), i16x8.shr_u(values, 8)), i16x8.splat(0xfff));
  const fours = i32x4.dot_i16x8_s(pairs, i16x8(4096, 1, 4096, 1, 4096, 1, 4096, 1));
  return v128.shuffle<u8>(fours, fours, 2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, 3, 3, 3, 3);
}

/** Decodes the next four characters, or finds the closing quote instead. */
function decodeFour(to: i32): i32 {
  let at = textEnd;
  let bits = 0;
  let padding = 0;
  for (let count = 0; count < 4; count++) {
    if (at >= to) return CUT;
    let character = <i32>load<u8>(at);
    if (character === QUOTE) {
      if (count > 0) return BAD_END;
      textEnd = at + 1;
      return CLOSED;
    }
    if (character === BACKSLASH) {
      const length = escapeLength(at, to);
      if (length === 0) return CUT;
      character = escapedCharacter(at, length);
      if (character < 0) return BAD_ESCAPE;
      at += length;
    } else at++;
    if (character === PADDING) {
      padding++;
      bits <<= 6;
      continue;
    }
    const value = digitOf(character);
    if (value < 0) return STRANGE;
    if (padding > 0) return BAD_END;
    bits = (bits << 6) | value;
  }
  return padding === 0 ? writeFour(bits, at) : endPadded(bits, padding, at, to);
}

function writeFour(bits: i32, at: i32): i32 {
  store<u8>(decodedEnd, <u8>(bits >> 16));
  store<u8>(decodedEnd, <u8>(bits >> 8), 1);
  store<u8>(decodedEnd, <u8>bits, 2);
  decodedEnd += 3;
  textEnd = at;
  return WHOLE;
}

/** Ends at padded characters: the closing quote must follow. */
function endPadded(bits: i32, padding: i32, at: i32, to: i32): i32 {
  if (padding > 2 || (bits & ((1 << (padding << 3)) - 1)) !== 0) return BAD_END;
  if (at >= to) return CUT;
  const next = <i32>load<u8>(at);
  // An incomplete escape waits for its rest, because the error shows its character.
  if (next === BACKSLASH && escapeLength(at, to) === 0) return CUT;
  if (next !== QUOTE) return STRANGE;
  writeFour(bits, at + 1);
  decodedEnd -= padding;
  return CLOSED;
}

/** Length of the escape at `at`; 0 where it is incomplete. */
function escapeLength(at: i32, to: i32): i32 {
  if (at + 2 > to) return 0;
  if (<i32>load<u8>(at, 1) !== U) return 2;
  return at + 6 > to ? 0 : 6;
}

/** The character of an escape; -1 where it is not ASCII, or cannot occur in base64. */
function escapedCharacter(at: i32, length: i32): i32 {
  if (length === 2) return <i32>load<u8>(at, 1) === SLASH ? SLASH : -1;
  let code = 0;
  for (let digit = at + 2; digit < at + 6; digit++) {
    const value = hexDigitOf(load<u8>(digit));
    if (value < 0) return -1;
    code = (code << 4) | value;
  }
  return code > 0x7f ? -1 : code;
}

function digitOf(character: i32): i32 {
  if (character >= 0x41 && character <= 0x5a) return character - 0x41;
  if (character >= 0x61 && character <= 0x7a) return character - 0x61 + 26;
  if (character >= 0x30 && character <= 0x39) return character - 0x30 + 52;
  if (character === 0x2b) return 62;
  return character === SLASH ? 63 : -1;
}

function hexDigitOf(character: i32): i32 {
  if (character >= 0x30 && character <= 0x39) return character - 0x30;
  const letter = character | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1;
}
