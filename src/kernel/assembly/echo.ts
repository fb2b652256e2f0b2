// Compares echoed columns with what was sent: each record with its result.

import { areSame } from './block';
import { QUOTE } from './bytes';
import { fieldStart } from './field';

/** Index of the differing pair of the record that was found. */
export let differingPair: i32 = 0;

// Offsets in a part, as echo-kernel.ts writes it: eight numbers; six are used.
const BYTES: usize = 0;
const STARTS: usize = 4;
const ENDS: usize = 8;
/** Fields of a result. */
const FIELDS: usize = 12;
/** Address of its pairs, and how many. */
const PAIRS: usize = 16;
const PAIR_COUNT: usize = 20;
const PART_BYTES_LOG2: i32 = 5;

// Offsets in a pair: four numbers; three are used.
const SENT_FIELD: usize = 0;
const RESULT_FIELD: usize = 4;
/** 1: upper and lower case letters of ASCII are the same. */
const FOLDED: usize = 8;
const PAIR_BYTES_LOG2: i32 = 4;

/**
 * Finds the first record, from `first` and its pair `firstPair` on, with a pair that holds different values.
 *
 * @param bytes, starts, ends, fields the records, as in a batch.
 * @param parts, part, result addresses: of all parts, and for each record of the index of its part and its result.
 * @returns its index; `last` where there is none.
 */
export function findDiffering(
  first: i32,
  firstPair: i32,
  last: i32,
  bytes: i32,
  starts: i32,
  ends: i32,
  fields: i32,
  parts: i32,
  part: i32,
  result: i32,
): i32 {
  let next = firstPair;
  for (let row = first; row < last; row++) {
    const from = parts + (load<i32>(part + (row << 2)) << PART_BYTES_LOG2);
    const pairs = load<i32>(from, PAIRS);
    const count = load<i32>(from, PAIR_COUNT);
    const width = load<i32>(from, FIELDS);
    const resultRow = load<i32>(result + (row << 2));
    const start = load<i32>(starts + (row << 2));
    const recordEnds = ends + ((row * fields) << 2);
    const resultBytes = load<i32>(from, BYTES);
    const resultStart = load<i32>(load<i32>(from, STARTS) + (resultRow << 2));
    const resultEnds = load<i32>(from, ENDS) + ((resultRow * width) << 2);
    for (let at = next; at < count; at++) {
      const pair = pairs + (at << PAIR_BYTES_LOG2);
      const sent = load<i32>(pair, SENT_FIELD);
      const answered = load<i32>(pair, RESULT_FIELD);
      const a = bytes + fieldStart(start, recordEnds, sent);
      const aEnd = bytes + load<i32>(recordEnds + (sent << 2));
      const b = resultBytes + fieldStart(resultStart, resultEnds, answered);
      const bEnd = resultBytes + load<i32>(resultEnds + (answered << 2));
      if (aEnd - a === bEnd - b && areSame(a, b, aEnd - a)) continue;
      if (haveSameValue(a, aEnd, b, bEnd, load<i32>(pair, FOLDED) !== 0)) continue;
      differingPair = at;
      return row;
    }
    next = 0;
  }
  return last;
}

/** Whether two raw fields have the same value: quotes taken off, doubled quotes made single. */
function haveSameValue(a: i32, aEnd: i32, b: i32, bEnd: i32, folded: bool): bool {
  const aQuoted = a < aEnd && <i32>load<u8>(a) === QUOTE;
  const bQuoted = b < bEnd && <i32>load<u8>(b) === QUOTE;
  if (aQuoted) {
    a++;
    aEnd--;
  }
  if (bQuoted) {
    b++;
    bEnd--;
  }
  while (a < aEnd && b < bEnd) {
    const x = <i32>load<u8>(a++);
    const y = <i32>load<u8>(b++);
    if (x !== y && (!folded || lower(x) !== lower(y))) return false;
    // A quote within the quotes is the first of two.
    if (aQuoted && x === QUOTE) a++;
    if (bQuoted && y === QUOTE) b++;
  }
  return a >= aEnd && b >= bEnd;
}

function lower(byte: i32): i32 {
  return byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
}
