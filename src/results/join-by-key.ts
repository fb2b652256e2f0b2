/** Joins results to records by the record number that was sent and came back. */
import { QUOTE, ZERO } from '../csv/bytes.js';
import { fieldEnd, fieldStart, indexFrom, type Table } from '../csv/table.js';
import { giveBack, takeNumbers } from '../streams/large-buffers.js';
import { type Joined, Mismatches } from './join-method.js';
import type { PartTable } from './part-table.js';

/**
 * @param column name of the record number's column.
 * @param numbers the chunk's record numbers, ascending.
 * @throws UntrustedError `RESULTS_DO_NOT_MATCH` naming missing, doubled and strange results.
 */
export function joinByKey(parts: readonly PartTable[], column: string, numbers: Int32Array): Joined {
  const part = new Int32Array(numbers.length).fill(NONE);
  const result = new Int32Array(numbers.length);
  const mismatches = new Mismatches();
  for (const [at, table] of parts.entries()) {
    const keys = readKeys(table, table.columns.indexOf(column));
    for (const row of assign(at, keys, numbers, part, result)) {
      const isSent = indexOf(numbers, keys[row]!) >= 0;
      if (isSent) mismatches.add('doubled', `record ${keys[row]}`);
      else mismatches.add('strange', `${column} ${JSON.stringify(keyText(table, column, row))}`);
    }
    giveBack(keys);
  }
  for (let i = part.indexOf(NONE); i >= 0; i = part.indexOf(NONE, i + 1)) {
    mismatches.add('missing', `record ${numbers[i]}`);
  }
  mismatches.check();
  return { parts, part, result, indistinct: new Set() };
}

/** Means no record number, no part or no index. */
const NONE = -1;

/** Assigns each result of a part to its record. Returns the rows whose number was not sent or already has a result. */
function assign(at: number, keys: Int32Array, numbers: Int32Array, part: Int32Array, result: Int32Array) {
  const unassigned: number[] = [];
  for (let row = 0; row < keys.length; row++) {
    const record = indexOf(numbers, keys[row]!);
    if (record < 0 || part[record] !== NONE) {
      unassigned.push(row);
      continue;
    }
    part[record] = at;
    result[record] = row;
  }
  return unassigned;
}

/**
 * The record number of each row; -1 if its field holds no number that foliopipe could have sent. The array is
 * from `takeNumbers`.
 */
export function readKeys(table: Table, field: number): Int32Array<ArrayBuffer> {
  const { bytes, count, fields, starts, ends } = table;
  const keys = takeNumbers(count);
  for (let row = 0; row < count; row++) {
    // `fieldStart`, inlined: this loop runs for every result, and a call would make it 10 % slower.
    const at = row * fields + field;
    keys[row] = readNumber(bytes, field === 0 ? starts[row]! : ends[at - 1]! + 1, ends[at]!);
  }
  return keys;
}

/** Record numbers are signed numbers of 32 bits. */
const MAX_NUMBER = 2 ** 31 - 1;
const MAX_DIGITS = 10;

/** Reads a number as foliopipe writes it, quoted or not. Signs, blanks and leading zeros are not accepted. */
function readNumber(bytes: Uint8Array, start: number, end: number): number {
  const isQuoted = end - start > 2 && bytes[start] === QUOTE;
  const from = isQuoted ? start + 1 : start;
  const to = isQuoted ? end - 1 : end;
  if (to <= from || to - from > MAX_DIGITS || bytes[from] === ZERO) return NONE;
  let number = 0;
  for (let i = from; i < to; i++) {
    const digit = bytes[i]! - ZERO;
    if (digit < 0 || digit > 9) return NONE;
    number = number * 10 + digit;
  }
  return number > MAX_NUMBER ? NONE : number;
}

/** Index of a number in ascending numbers. Without gaps (rejected records) it is the distance from the first number. */
function indexOf(numbers: Int32Array, number: number): number {
  if (number === NONE) return NONE;
  const guess = number - (numbers[0] ?? 0);
  if (numbers[guess] === number) return guess;
  const at = indexFrom(numbers, number, Math.min(guess, numbers.length));
  return numbers[at] === number ? at : NONE;
}

/** The raw text of a result's number, for a message. */
function keyText(table: PartTable, column: string, row: number): string {
  const field = table.columns.indexOf(column);
  const start = fieldStart(table, row, field);
  const end = Math.min(fieldEnd(table, row, field), start + 40);
  return Buffer.from(table.bytes.subarray(start, end)).toString();
}
