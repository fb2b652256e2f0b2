// Writes raw fields of a record, and its number, as fields of a comma CSV with LF, by the rule of csv/write-field.ts.

import { COMMA, QUOTE, ZERO } from './bytes';
import { copy, copyPlain, copyUnlessReturn, SPARE } from './copy';

/** In the place of a delimiter: the fields are those of an output, and need no change. */
export const AS_IS: i32 = 0;
/** In the place of a delimiter: the fields are those of a comma CSV, and lose the quotes that they do not need. */
export const UNQUOTED: i32 = -1;

/** Most bytes that quotes add to a field. */
const QUOTES: i32 = 2;

/**
 * A quick upper limit of what `writeRuns` writes: each run may be as large as the record, because a field may be chosen
 * twice. Sizes are summed in 64 bits: many runs of a large record exceed 32 bits.
 *
 * @param bytes size of the record.
 */
export function roughSize(bytes: i32, fields: i32, count: i32): i64 {
  return <i64>count * (<i64>bytes + <i64>fields * QUOTES + 1);
}

/** A tighter upper limit, from the sizes of the runs themselves. */
export function exactSize(start: i32, ends: i32, runs: i32, count: i32): i64 {
  let size: i64 = 0;
  for (let run = 0; run < count; run++) {
    size++;
    const first = load<i32>(runs + (run << 3));
    if (first < 0) continue;
    const last = load<i32>(runs + (run << 3), 4);
    const bytes = load<i32>(ends + (last << 2)) - fieldStart(start, ends, first);
    size += <i64>bytes + <i64>(last - first + 1) * QUOTES;
  }
  return size;
}

/**
 * The bytes of room that the chosen fields of a record may need, if those between `out` and `room` may not be enough;
 * else 0. The exact size is only summed up where the quick limit does not fit.
 *
 * @param more bytes that the caller writes besides the fields.
 */
export function missingRoom(
  start: i32,
  ends: i32,
  fields: i32,
  chosen: i32,
  runs: i32,
  more: i32,
  out: i32,
  room: i32,
): i32 {
  const bytes = load<i32>(ends + ((fields - 1) << 2)) - start;
  if (<i64>out + roughSize(bytes, fields, runs) + more + SPARE <= <i64>room) return 0;
  const need = exactSize(start, ends, chosen, runs) + more + SPARE;
  return <i64>out + need > <i64>room ? <i32>min(need, <i64>i32.MAX_VALUE) : 0;
}

/**
 * Writes fields with commas between them, and returns the address after them.
 *
 * @param bytes address of the batch; offsets count from there.
 * @param start offset of the record.
 * @param ends address of its fields' ends.
 * @param runs address of the first and the last field of each run, -1 for a field that is empty.
 * @param delimiter of the fields, or `AS_IS`: copies each run as it is, or `UNQUOTED`.
 */
export function writeRuns(
  bytes: i32,
  start: i32,
  ends: i32,
  runs: i32,
  count: i32,
  delimiter: i32,
  out: i32,
): i32 {
  for (let run = 0; run < count; run++) {
    if (run > 0) store<u8>(out++, <u8>COMMA);
    const first = load<i32>(runs + (run << 3));
    if (first < 0) continue;
    const last = load<i32>(runs + (run << 3), 4);
    const from = bytes + fieldStart(start, ends, first);
    const to = bytes + load<i32>(ends + (last << 2));
    if (delimiter === AS_IS) {
      out = copy(from, to, out);
      continue;
    }
    // In a comma CSV, only a field with an unquoted CR has to be changed.
    if (delimiter === COMMA) {
      const end = copyUnlessReturn(from, to, out);
      if (end !== 0) {
        out = end;
        continue;
      }
    }
    for (let field = first; field <= last; field++) {
      if (field > first) store<u8>(out++, <u8>COMMA);
      out = writeField(
        bytes + fieldStart(start, ends, field),
        bytes + load<i32>(ends + (field << 2)),
        delimiter,
        out,
      );
    }
  }
  return out;
}

/** Offset at which a field begins. @param start offset of its row. @param ends address of the ends of the row's fields. */
export function fieldStart(start: i32, ends: i32, field: i32): i32 {
  return field === 0 ? start : load<i32>(ends + ((field - 1) << 2)) + 1;
}

function writeField(from: i32, to: i32, delimiter: i32, out: i32): i32 {
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

/** Most digits that a number has. */
export const DIGITS: i32 = 20;

/** Writes a number of 0 or more to `out`, and returns the address after it. */
export function writeNumber(value: u64, out: i32): i32 {
  let digits = 1;
  for (let power: u64 = 10; power <= value && digits < DIGITS - 1; power *= 10) digits++;
  for (let at = out + digits - 1; at >= out; at--) {
    store<u8>(at, <u8>(ZERO + <i32>(value % 10)));
    value /= 10;
  }
  return out + digits;
}
