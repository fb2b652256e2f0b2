// Matches results to records by the values of some fields, quoted or not. Equal hashes are no proof: bytes are compared.

import { areSame } from './block';
import { QUOTE } from './bytes';
import { copy } from './copy';
import { fieldStart } from './field';
import { sipHash } from './siphash';

// Offsets in a table, as match-kernel.ts writes it.
const BYTES: usize = 0;
const STARTS: usize = 4;
const ENDS: usize = 8;
const FIELDS: usize = 12;
const COUNT: usize = 16;
/** Address and number of the indexes of the fields that make up the tuple. */
const CHOSEN: usize = 20;
const CHOSEN_COUNT: usize = 24;
/** Tables with equal numbers have the same columns in the same order, and the same status. */
const LAYOUT: usize = 28;
const TABLE_BYTES_LOG2: i32 = 5;

// Offsets in the description of the work, as match-kernel.ts writes it.
/** Address of 16 secret bytes. */
const SECRET: usize = 0;
/** Address of room for a hash and for the values of a tuple. */
const SCRATCH: usize = 4;
/** Hash table: `mask` + 1 numbers, all zero; each becomes a record's index plus one. */
const SLOTS: usize = 8;
const MASK: usize = 12;
// Addresses of arrays with a number for each record.
const HASHES: usize = 16;
/** The first record with the same tuple. */
const FIRST: usize = 20;
/** The next one with the same tuple, or -1. */
const NEXT: usize = 24;
/** For a first record: the last one with the same tuple; while results are matched, the next that has none, or -1. */
const REACHED: usize = 28;
/** Index of the table of a record's result, and of the result; -1 where there is none. */
const PART: usize = 32;
const RESULT: usize = 36;

const NONE: i32 = -1;

/** Finds the records with equal tuples, and those that have no result yet: all of them. */
export function indexTuples(table: i32, work: i32): void {
  const count = load<i32>(table, COUNT);
  const first = load<i32>(work, FIRST);
  const next = load<i32>(work, NEXT);
  const reached = load<i32>(work, REACHED);
  for (let row = 0; row < count; row++) {
    const at = row << 2;
    const hash = hashOf(table, row, work);
    store<u32>(load<i32>(work, HASHES) + at, hash);
    store<i32>(next + at, NONE);
    store<i32>(load<i32>(work, PART) + at, NONE);
    const slot = findSlot(table, row, hash, table, work);
    const known = load<i32>(slot) - 1;
    if (known === NONE) {
      store<i32>(slot, row + 1);
      store<i32>(first + at, row);
      store<i32>(reached + at, row);
    } else {
      store<i32>(first + at, known);
      store<i32>(next + (load<i32>(reached + (known << 2)) << 2), row);
      store<i32>(reached + (known << 2), row);
    }
  }
  for (let row = 0; row < count; row++) {
    if (load<i32>(first + (row << 2)) === row) store<i32>(reached + (row << 2), row);
  }
}

/**
 * Gives each result of a table to the next record with its tuple. Writes two numbers for each result that has none: its
 * index, and the first record with its tuple, or -1.
 *
 * @param part index of the table.
 * @param unmatched address for these numbers.
 * @returns how many results have no record.
 */
export function matchTuples(part: i32, table: i32, records: i32, work: i32, unmatched: i32): i32 {
  const count = load<i32>(table, COUNT);
  const reached = load<i32>(work, REACHED);
  let out = unmatched;
  for (let row = 0; row < count; row++) {
    const slot = findSlot(table, row, hashOf(table, row, work), records, work);
    const first = load<i32>(slot) - 1;
    const record = first === NONE ? NONE : load<i32>(reached + (first << 2));
    if (record === NONE) {
      store<i32>(out, row);
      store<i32>(out, first, 4);
      out += 8;
      continue;
    }
    store<i32>(load<i32>(work, PART) + (record << 2), part);
    store<i32>(load<i32>(work, RESULT) + (record << 2), row);
    store<i32>(reached + (first << 2), load<i32>(load<i32>(work, NEXT) + (record << 2)));
  }
  return (out - unmatched) >> 3;
}

/**
 * Writes the indexes of the records whose result has other bytes than that of the first record with the same tuple. All
 * records must have a result.
 *
 * @param tables address of the tables of the results.
 * @returns how many there are.
 */
export function findUnequal(tables: i32, count: i32, work: i32, out: i32): i32 {
  let end = out;
  for (let row = 0; row < count; row++) {
    const first = load<i32>(load<i32>(work, FIRST) + (row << 2));
    if (first === row || haveSameResult(row, first, tables, work)) continue;
    store<i32>(end, row);
    end += 4;
  }
  return (end - out) >> 2;
}

function haveSameResult(one: i32, other: i32, tables: i32, work: i32): bool {
  const a = tables + (load<i32>(load<i32>(work, PART) + (one << 2)) << TABLE_BYTES_LOG2);
  const b = tables + (load<i32>(load<i32>(work, PART) + (other << 2)) << TABLE_BYTES_LOG2);
  if (load<i32>(a, LAYOUT) !== load<i32>(b, LAYOUT)) return false;
  const aRow = load<i32>(load<i32>(work, RESULT) + (one << 2));
  const bRow = load<i32>(load<i32>(work, RESULT) + (other << 2));
  const size = endOf(a, aRow) - startOf(a, aRow);
  if (endOf(b, bRow) - startOf(b, bRow) !== size) return false;
  return areSame(load<i32>(a) + startOf(a, aRow), load<i32>(b) + startOf(b, bRow), size);
}

/** Offset at which a row begins. */
function startOf(table: i32, row: i32): i32 {
  return load<i32>(load<i32>(table, STARTS) + (row << 2));
}

/** Offset at which a row ends. */
function endOf(table: i32, row: i32): i32 {
  return load<i32>(load<i32>(table, ENDS) + (((row + 1) * load<i32>(table, FIELDS) - 1) << 2));
}

/** The slot of the records with the tuple of a row, or the empty one for it. */
function findSlot(table: i32, row: i32, hash: u32, records: i32, work: i32): i32 {
  const slots = load<i32>(work, SLOTS);
  const mask = load<u32>(work, MASK);
  const hashes = load<i32>(work, HASHES);
  let at = hash & mask;
  let slot = slots + <i32>(at << 2);
  for (let known = load<i32>(slot) - 1; known !== NONE; known = load<i32>(slot) - 1) {
    if (load<u32>(hashes + (known << 2)) === hash && haveSameTuple(table, row, records, known)) break;
    at = (at + 1) & mask;
    slot = slots + <i32>(at << 2);
  }
  return slot;
}

function haveSameTuple(table: i32, row: i32, records: i32, record: i32): bool {
  const count = load<i32>(table, CHOSEN_COUNT);
  for (let at = 0; at < count; at++) {
    setValue(table, row, at);
    const from = valueFrom;
    const size = valueTo - from;
    setValue(records, record, at);
    if (valueTo - valueFrom !== size || !areSame(from, valueFrom, size)) return false;
  }
  return true;
}

function hashOf(table: i32, row: i32, work: i32): u32 {
  const scratch = load<i32>(work, SCRATCH);
  const count = load<i32>(table, CHOSEN_COUNT);
  let end = scratch + 16;
  for (let at = 0; at < count; at++) {
    setValue(table, row, at);
    end = copy(valueFrom, valueTo, end);
    store<i32>(end, valueTo - valueFrom);
    end += 4;
  }
  sipHash(scratch + 16, end - scratch - 16, load<i32>(work, SECRET), scratch);
  return load<u32>(scratch);
}

let valueFrom: i32 = 0;
let valueTo: i32 = 0;

/**
 * Finds a value of a tuple: a raw field without the quotes around it. Doubled quotes stay, because a value with a quote
 * is quoted wherever it occurs.
 */
function setValue(table: i32, row: i32, at: i32): void {
  const field = load<i32>(load<i32>(table, CHOSEN) + (at << 2));
  const ends = load<i32>(table, ENDS) + ((row * load<i32>(table, FIELDS)) << 2);
  const bytes = load<i32>(table, BYTES);
  let from = bytes + fieldStart(startOf(table, row), ends, field);
  let to = bytes + load<i32>(ends + (field << 2));
  if (from < to && <i32>load<u8>(from) === QUOTE) {
    from++;
    to--;
  }
  valueFrom = from;
  valueTo = to;
}
