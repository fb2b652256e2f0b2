// Takes answers of a segment for asked records: matches their hashes, and writes the answers to lanes by record number.
// An asked record has an entry of 20 bytes: its hash, and its number.

import { slotOf } from './buckets';

const ASKED_BYTES: i32 = 20;
const SPREAD: usize = 8;
const NUMBER: usize = 16;
const HASH_LOG2: i32 = 4;
/** Bytes of a match: the index of the entry in its block, and that of the first record with this hash. */
const MATCH_LOG2: i32 = 3;
/** Numbers of an answer in a lane, besides its value. */
const ANSWER_INTS: i32 = 4;
/** The largest share by which the hash shortens the age up to which an answer is taken. */
const MOST_SPREAD: f64 = 1.0 / 5.0;

// What a mark says about the first record with a hash: it was matched and is decided on next, an answer is taken, or
// the newest answer so far is not taken.
const MATCHED: u8 = 1;
const REUSED: u8 = 2;
const PASSED: u8 = 3;

// Why `takeAnswers` has stopped.
const DONE: i32 = 0;
const UNKNOWN_ORIGIN: i32 = 1;
const NO_ROOM: i32 = 2;

/** Chains records with the same hash. @param firsts of `indexEntries`. @param lasts room for a number per record. */
export function chainEqual(firsts: i32, count: i32, nexts: i32, lasts: i32): void {
  for (let at = 0; at < count; at++) {
    const last = lasts + (load<i32>(firsts + (at << 2)) << 2);
    if (load<i32>(firsts + (at << 2)) !== at) store<i32>(nexts + (load<i32>(last) << 2), at);
    store<i32>(last, at);
    store<i32>(nexts + (at << 2), -1);
  }
}

/** Hashes that were matched for the first time in the last `matchBlock`. */
export let firstMatches: i32 = 0;

/**
 * Finds the records for the hashes of a block.
 *
 * @param slots of `indexEntries`, `mask` + 1.
 * @param marks a byte for each record.
 * @param mayTake whether an answer of the block may be taken: then records are matched again whose newest answer so far
 *   is not taken.
 * @returns how many matches there are.
 */
export function matchBlock(
  asked: i32,
  slots: i32,
  mask: i32,
  marks: i32,
  mayTake: bool,
  hashes: i32,
  count: i32,
  matches: i32,
): i32 {
  let to = matches;
  firstMatches = 0;
  for (let entry = 0; entry < count; entry++) {
    const record = load<i32>(slotOf(hashes + (entry << HASH_LOG2), asked, ASKED_BYTES, slots, mask)) - 1;
    if (record < 0) continue;
    const mark = load<u8>(marks + record);
    if (mark === 0) {
      store<u8>(marks + record, MATCHED);
      firstMatches++;
    } else if (!mayTake || mark === REUSED) continue;
    store<i32>(to, entry);
    store<i32>(to, record, 4);
    to += 1 << MATCH_LOG2;
  }
  return (to - matches) >> MATCH_LOG2;
}

/**
 * Counts since `beginBlock`: records for which a successful or a failed answer was taken; how many more records have
 * only an answer that is not taken (fewer than 0 if some of those got one); and the hashes for which an answer was
 * taken.
 */
export let successful: i32 = 0;
export let failed: i32 = 0;
export let outdated: i32 = 0;
export let reusedFirsts: i32 = 0;

/** The answer at which `takeAnswers` has stopped; the value is an address. */
export let stopNumber: i32 = 0;
export let stopOrigin: i32 = 0;
export let stopPaid: i32 = 0;
export let stopMeta: i32 = 0;
export let stopValue: i32 = 0;
export let stopTaken: i32 = 0;

/** Where `takeAnswers` continues: the match, the record of its chain (-1: the first), whether its answer is written. */
let nextMatch: i32 = 0;
let nextRecord: i32 = -1;
let isWritten: bool = false;
/** The entry at which the block is read, the sum of the number differences before it, and where its value begins. */
let entry: i32 = 0;
let sum: i32 = 0;
let value: i32 = 0;

/** Called before the first `takeAnswers` for a block. @param entries its entries, `count` (reuse/segment-format.ts). */
export function beginBlock(entries: i32, count: i32): void {
  successful = failed = outdated = reusedFirsts = 0;
  nextMatch = entry = sum = 0;
  nextRecord = -1;
  // The caller may have failed to write an answer of another block.
  isWritten = false;
  value = entries + count * 12;
}

/**
 * Writes the answers of matches to lanes.
 *
 * @param passed address of a number for each record, 64 bits: the age of the newest answer that is not taken.
 * @param nexts the chains of equal records, as `chainEqual` writes them; 0: there are none.
 * @param sendsDoubles whether equal records are all sent if there is no answer to take.
 * @param ages address of the age of each origin, 64 bits.
 * @param indexes address of a number for each origin, for the entries in lanes; -1: unknown.
 * @param limits address of the ages up to which successful and failed answers are taken, 64 bits each.
 * @param reused, reusedFilled addresses of the lanes' buffers, and of how many numbers each holds; 0: nothing is
 *   written.
 * @returns why it has stopped. After `NO_ROOM` the caller has written the answer when it calls again.
 */
export function takeAnswers(
  matches: i32,
  matchCount: i32,
  entries: i32,
  count: i32,
  asked: i32,
  marks: i32,
  passed: i32,
  nexts: i32,
  sendsDoubles: bool,
  ages: i32,
  indexes: i32,
  limits: i32,
  laneBits: i32,
  laneInts: i32,
  reused: i32,
  reusedFilled: i32,
  others: i32,
  othersFilled: i32,
): i32 {
  const maxAge = load<f64>(limits);
  const failedAge = load<f64>(limits, 8);
  for (; nextMatch < matchCount; nextMatch++) {
    const wanted = load<i32>(matches + (nextMatch << MATCH_LOG2));
    const first = load<i32>(matches + (nextMatch << MATCH_LOG2), 4);
    for (; entry < wanted; entry++) {
      sum += load<i32>(entries + (entry << 2));
      value += valueInts(load<i32>(entries + ((2 * count + entry) << 2))) << 2;
    }
    const mark = load<u8>(marks + first);
    if (mark === REUSED) continue;
    const origin = load<i32>(entries + ((count + wanted) << 2));
    const meta = load<i32>(entries + ((2 * count + wanted) << 2));
    const hasFailed = (meta & 1) !== 0;
    const fraction = <f64>load<u32>(asked + first * ASKED_BYTES, SPREAD) / 4294967296.0;
    const limit = hasFailed ? failedAge : maxAge * (1.0 - MOST_SPREAD * fraction);
    const age = load<f64>(ages + (origin << 3));
    const isTaken = age < limit;
    const wasPassed = mark === PASSED;
    if (wasPassed) {
      // The newest answer decides.
      if (age >= load<f64>(passed + (first << 3))) continue;
      if (!isTaken) {
        store<f64>(passed + (first << 3), age);
        continue;
      }
    }
    // Equal records that are sent once keep the old answer once.
    const isChained = nexts !== 0 && (isTaken || sendsDoubles);
    let record = nextRecord < 0 ? first : nextRecord;
    for (; record >= 0; record = isChained ? load<i32>(nexts + (record << 2)) : -1) {
      if (isWritten) isWritten = false;
      else if (reused !== 0) {
        const index = load<i32>(indexes + (origin << 2));
        const number = load<i32>(asked + record * ASKED_BYTES, NUMBER);
        const paid = sum + load<i32>(entries + (wanted << 2));
        const words = valueInts(meta);
        const lane = number >>> laneBits;
        const place = (isTaken ? reusedFilled : othersFilled) + (lane << 2);
        const filled = load<i32>(place);
        const hasRoom = filled + ANSWER_INTS + words <= laneInts;
        if (index < 0 || !hasRoom) {
          nextRecord = record;
          isWritten = index >= 0;
          stopNumber = number;
          stopOrigin = origin;
          stopPaid = paid;
          stopMeta = meta;
          stopValue = value;
          stopTaken = isTaken ? 1 : 0;
          return index < 0 ? UNKNOWN_ORIGIN : NO_ROOM;
        }
        store<i32>(place, filled + ANSWER_INTS + words);
        const to = (isTaken ? reused : others) + ((lane * laneInts + filled) << 2);
        store<i32>(to, number);
        store<i32>(to, index, 4);
        store<i32>(to, paid, 8);
        store<i32>(to, meta, 12);
        for (let at = 0; at < words << 2; at += 4) store<i32>(to + at, load<i32>(value + at), 16);
      }
      if (!isTaken) outdated++;
      else if (hasFailed) failed++;
      else successful++;
      if (wasPassed && (sendsDoubles || record === first)) outdated--;
    }
    nextRecord = -1;
    if (isTaken) {
      store<u8>(marks + first, REUSED);
      reusedFirsts++;
    } else {
      store<u8>(marks + first, PASSED);
      // An answer of another epoch counts as the newest.
      store<f64>(passed + (first << 3), age === Infinity ? 0.0 : age);
    }
  }
  return DONE;
}

/** Numbers that a value takes. */
function valueInts(meta: i32): i32 {
  return ((meta >>> 1) + 3) >>> 2;
}
