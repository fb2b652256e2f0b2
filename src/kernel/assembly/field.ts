// Writes a raw field of a source as a field of a comma CSV with LF; the rule is that of csv/write-field.ts.

import { COMMA, QUOTE } from './bytes';
import { copy, copyPlain } from './copy';

/** Most bytes that a field may take beyond its own. */
export const QUOTES: i32 = 2;

/** Writes [from, to) to `out`, and returns where that ends. */
export function writeField(from: i32, to: i32, delimiter: i32, out: i32): i32 {
  if (to > from && <i32>load<u8>(from) === QUOTE) {
    if (delimiter === COMMA) return copy(from, to, out);
    const end = copyPlain(from + 1, to - 1, out);
    return end !== 0 ? end : copy(from, to, out);
  }
  const end = copyPlain(from, to, out);
  if (end !== 0) return end;
  store<u8>(out, <u8>QUOTE);
  const quoted = copy(from, to, out + 1);
  store<u8>(quoted, <u8>QUOTE);
  return quoted + 1;
}
