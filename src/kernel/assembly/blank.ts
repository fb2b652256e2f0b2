// Finds blank records. A text is blank if JavaScript's `trim()` leaves nothing of it: it is empty, or holds only white
// space and line ends, including no-break spaces and the other spaces of Unicode.

import { QUOTE } from './bytes';
import { fieldStart } from './field';

/**
 * Writes the indexes of the rows that are blank in all chosen fields.
 *
 * @param bytes, starts, ends addresses of the table; offsets count from `bytes`.
 * @param chosen, chosenCount address and number of the indexes of the fields.
 * @param out address for the indexes: room for `count` of them.
 * @returns how many there are.
 */
export function findBlank(
  bytes: i32,
  starts: i32,
  ends: i32,
  count: i32,
  fields: i32,
  chosen: i32,
  chosenCount: i32,
  out: i32,
): i32 {
  let next = out;
  for (let row = 0; row < count; row++) {
    const start = load<i32>(starts + (row << 2));
    const rowEnds = ends + ((row * fields) << 2);
    let at = 0;
    for (; at < chosenCount; at++) {
      const field = load<i32>(chosen + (at << 2));
      const from = bytes + fieldStart(start, rowEnds, field);
      if (!isBlankField(from, bytes + load<i32>(rowEnds + (field << 2)))) break;
    }
    if (at < chosenCount) continue;
    store<i32>(next, row);
    next += 4;
  }
  return (next - out) >> 2;
}

/** Whether a raw field is blank; its quotes do not count. */
export function isBlankField(from: i32, to: i32): bool {
  return from < to && <i32>load<u8>(from) === QUOTE ? isBlankText(from + 1, to - 1) : isBlankText(from, to);
}

/** Whether a text is blank. */
export function isBlankText(from: i32, to: i32): bool {
  for (let at = from; at < to; ) {
    const size = sizeOfSpace(at, to);
    if (size === 0) return false;
    at += size;
  }
  return true;
}

/** Bytes of the white space at `at`, in UTF-8; 0 if there is another character. */
function sizeOfSpace(at: i32, to: i32): i32 {
  const first = <i32>load<u8>(at);
  if (first === 0x20 || (first >= 0x09 && first <= 0x0d)) return 1;
  if (first < 0xc2) return 0;
  // U+00A0
  if (first === 0xc2) return at + 1 < to && <i32>load<u8>(at, 1) === 0xa0 ? 2 : 0;
  if (at + 2 >= to) return 0;
  return isLongSpace(first, ((<i32>load<u8>(at, 1)) << 8) | <i32>load<u8>(at, 2)) ? 3 : 0;
}

/** Whether a character of three bytes is white space. @param rest its second and third byte. */
function isLongSpace(first: i32, rest: i32): bool {
  // U+1680, U+3000, U+FEFF
  if (first === 0xe1) return rest === 0x9a80;
  if (first === 0xe3) return rest === 0x8080;
  if (first === 0xef) return rest === 0xbbbf;
  if (first !== 0xe2) return false;
  // U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F
  if (rest >= 0x8080 && rest <= 0x808a) return true;
  return rest === 0x80a8 || rest === 0x80a9 || rest === 0x80af || rest === 0x819f;
}
