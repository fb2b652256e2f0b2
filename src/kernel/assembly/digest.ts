// Hashes the keys and the rows of a table by their values: it makes no difference whether a value is quoted, unless it is
// empty.

import { isBlankText } from './blank';
import { hasByte } from './block';
import { COMMA, QUOTE } from './bytes';
import { copy, copyPlain } from './copy';
import { fieldStart } from './field';
import { sipHash } from './siphash';

/** Row of the last call with a blank key column; -1 if there is none. */
export let blankRow: i32 = -1;
/** Index in the key of that column. */
export let blankField: i32 = 0;

/**
 * Writes an entry of 20 bytes for each row: the hash of its key, and its number. Stops after a row with a blank key.
 *
 * @param bytes, starts, ends addresses of the table; offsets count from `bytes`.
 * @param chosen, keys address and number of the indexes of the key's fields.
 * @param secret address of the 16 bytes of the hashes' key.
 * @param numbers address of the numbers of the rows.
 * @param scratch room for the values of a key, with four bytes for each field.
 */
export function digestKeys(
  bytes: i32,
  starts: i32,
  ends: i32,
  count: i32,
  fields: i32,
  chosen: i32,
  keys: i32,
  secret: i32,
  numbers: i32,
  scratch: i32,
  out: i32,
): void {
  blankRow = -1;
  for (let row = 0; row < count; row++, out += 20) {
    const start = load<i32>(starts + (row << 2));
    const end = writeKey(bytes, start, ends + ((row * fields) << 2), chosen, keys, scratch);
    sipHash(scratch, end - scratch, secret, out);
    store<u32>(out, load<u32>(numbers + (row << 2)), 16);
    if (blankField < 0) continue;
    blankRow = row;
    return;
  }
}

/**
 * Writes an entry for each row of a comma CSV: the hashes of its key and of all its values, its number (36 bytes in all),
 * and a short hash of each answer. Writes the raw fields of all keys to `texts`, each after its length in four bytes.
 *
 * @param answer, answers address and number of the indexes of the answers' fields.
 * @param scratch room for a row, and for the values of a key.
 * @returns the address after the texts.
 */
export function digestRows(
  bytes: i32,
  starts: i32,
  ends: i32,
  count: i32,
  fields: i32,
  chosen: i32,
  keys: i32,
  secret: i32,
  numbers: i32,
  scratch: i32,
  out: i32,
  texts: i32,
  answer: i32,
  answers: i32,
): i32 {
  for (let row = 0; row < count; row++, out += 36 + (answers << 2)) {
    const start = load<i32>(starts + (row << 2));
    const rowEnds = ends + ((row * fields) << 2);
    const keyEnd = writeKey(bytes, start, rowEnds, chosen, keys, scratch);
    sipHash(scratch, keyEnd - scratch, secret, out);
    const from = bytes + start;
    const to = bytes + load<i32>(rowEnds + ((fields - 1) << 2));
    if (hasByte(from, to, QUOTE)) {
      const end = writeUnquoted(bytes, start, rowEnds, fields, scratch);
      sipHash(scratch, end - scratch, secret, out + 16);
    } else {
      sipHash(from, to - from, secret, out + 16);
    }
    store<u32>(out, load<u32>(numbers + (row << 2)), 32);
    for (let at = 0; at < answers; at++) {
      const field = load<i32>(answer + (at << 2));
      const value = bytes + fieldStart(start, rowEnds, field);
      store<u32>(out + 36 + (at << 2), shortHash(value, bytes + load<i32>(rowEnds + (field << 2)), secret));
    }
    for (let key = 0; key < keys; key++) {
      const field = load<i32>(chosen + (key << 2));
      const offset = fieldStart(start, rowEnds, field);
      const end = load<i32>(rowEnds + (field << 2));
      store<i32>(texts, end - offset);
      texts = copy(bytes + offset, bytes + end, texts + 4);
    }
  }
  return texts;
}

/** A prime, in two halves because a tool that reads this as TypeScript would round it. */
const MULTIPLIER: u64 = ((<u64>0x9e3779b1) << 32) | 0x85ebca87;

/** A hash of 32 bits of a field without the quotes around it: enough to compare one value with one other. */
function shortHash(from: i32, to: i32, secret: i32): u32 {
  if (to > from && <i32>load<u8>(from) === QUOTE) {
    from++;
    to--;
  }
  let hash = load<u64>(secret) ^ <u64>(to - from);
  for (; from < to; from += 8) {
    const left = to - from;
    const kept: u64 = left < 8 ? ((<u64>1) << (<u64>(left << 3))) - 1 : ~(<u64>0);
    hash = (hash ^ (load<u64>(from) & kept)) * MULTIPLIER;
    hash ^= hash >> 29;
  }
  hash *= MULTIPLIER;
  return <u32>(hash >> 32);
}

/** Writes the values of a key, each with its length after it, and returns the address after them. */
function writeKey(bytes: i32, start: i32, ends: i32, chosen: i32, keys: i32, out: i32): i32 {
  blankField = -1;
  for (let key = 0; key < keys; key++) {
    const field = load<i32>(chosen + (key << 2));
    const from = bytes + fieldStart(start, ends, field);
    const to = bytes + load<i32>(ends + (field << 2));
    const end = writeValue(from, to, out);
    if (blankField < 0 && isBlankText(out, end)) blankField = key;
    store<i32>(end, end - out);
    out = end + 4;
  }
  return out;
}

function writeValue(from: i32, to: i32, out: i32): i32 {
  if (to === from || <i32>load<u8>(from) !== QUOTE) return copy(from, to, out);
  for (let at = from + 1; at < to - 1; at++) {
    const byte = load<u8>(at);
    store<u8>(out++, byte);
    // The second of two quotes is skipped.
    if (<i32>byte === QUOTE) at++;
  }
  return out;
}

/**
 * Writes a row without the quotes that its values do not need, and returns the address after it. An empty text keeps
 * its quotes: without them, databases and Parquet read it as no value.
 */
function writeUnquoted(bytes: i32, start: i32, ends: i32, fields: i32, out: i32): i32 {
  for (let field = 0; field < fields; field++) {
    if (field > 0) store<u8>(out++, <u8>COMMA);
    const from = bytes + fieldStart(start, ends, field);
    const to = bytes + load<i32>(ends + (field << 2));
    const isQuoted = to - from > 2 && <i32>load<u8>(from) === QUOTE;
    const end = isQuoted ? copyPlain(from + 1, to - 1, out) : 0;
    out = end !== 0 ? end : copy(from, to, out);
  }
  return out;
}
