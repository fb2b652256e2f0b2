/** Joins by the record number that we sent and the service gave back. */
import { type Joined, Misfits } from './joined.js';
import { fieldStart, type PartTable } from './part-table.js';

/**
 * @param numbers the chunk's record numbers, ascending.
 * @throws UntrustedError naming missing, doubled and strange results.
 */
export function joinByKey(parts: readonly PartTable[], column: string, numbers: Int32Array): Joined {
  const part = new Int32Array(numbers.length).fill(NONE);
  const result = new Int32Array(numbers.length);
  const misfits = new Misfits();
  for (const [at, table] of parts.entries()) {
    const keys = readKeys(table, table.columns.indexOf(column));
    for (const r of place(at, keys, numbers, part, result)) {
      const isOurs = indexOf(numbers, keys[r]!) >= 0;
      if (isOurs) misfits.add('doubled', `record ${keys[r]}`);
      else misfits.add('strange', `${column} ${JSON.stringify(keyText(table, column, r))}`);
    }
  }
  for (let i = part.indexOf(NONE); i >= 0; i = part.indexOf(NONE, i + 1)) {
    misfits.add('missing', `record ${numbers[i]}`);
  }
  misfits.check();
  return { parts, part, result, indistinct: new Set() };
}

/** Gives each result of a part to its record; those whose record is none or has one already are returned. */
function place(at: number, keys: Int32Array, numbers: Int32Array, part: Int32Array, result: Int32Array) {
  const misfits: number[] = [];
  for (let r = 0; r < keys.length; r++) {
    const index = indexOf(numbers, keys[r]!);
    if (index < 0 || part[index] !== NONE) {
      misfits.push(r);
      continue;
    }
    part[index] = at;
    result[index] = r;
  }
  return misfits;
}

/** The number in a field of each result, `NONE` where it is none of ours. */
function readKeys(table: PartTable, field: number): Int32Array {
  const { bytes, starts, ends, count } = table;
  const fields = table.columns.length;
  const keys = new Int32Array(count);
  for (let r = 0; r < count; r++) {
    const at = r * fields + field;
    keys[r] = readNumber(bytes, field === 0 ? starts[r]! : ends[at - 1]! + 1, ends[at]!);
  }
  return keys;
}

/** The number as we wrote it, quoted or not; anything else (signs, blanks, leading zeros) is not ours. */
function readNumber(bytes: Uint8Array, start: number, end: number): number {
  const isQuoted = end - start > 2 && bytes[start] === quote;
  const from = isQuoted ? start + 1 : start;
  const to = isQuoted ? end - 1 : end;
  if (to <= from || to - from > MOST_DIGITS || bytes[from] === zero) return NONE;
  let number = 0;
  for (let i = from; i < to; i++) {
    const digit = bytes[i]! - zero;
    if (digit < 0 || digit > 9) return NONE;
    number = number * 10 + digit;
  }
  return number > LARGEST ? NONE : number;
}

/** Place of a number among ascending ones: at its distance from the first unless rejected records lie between. */
function indexOf(numbers: Int32Array, number: number): number {
  if (number === NONE) return NONE;
  const guess = number - (numbers[0] ?? 0);
  if (numbers[guess] === number) return guess;
  let low = 0;
  let high = Math.min(guess, numbers.length) - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const found = numbers[middle]!;
    if (found === number) return middle;
    if (found < number) low = middle + 1;
    else high = middle - 1;
  }
  return NONE;
}

const quote = 0x22;
const zero = 0x30;
const NONE = -1;
/** Record numbers stand in arrays of 32 bits. */
const LARGEST = 2 ** 31 - 1;
const MOST_DIGITS = 10;

function keyText(table: PartTable, column: string, result: number): string {
  const field = table.columns.indexOf(column);
  const start = fieldStart(table, result, field);
  const end = table.ends[result * table.columns.length + field]!;
  return Buffer.from(table.bytes.subarray(start, Math.min(end, start + 40))).toString();
}
