// Writes rows of the output: a record's own fields, and the answer that a result of a successful part gives it.

import { COMMA, LF } from './bytes';
import { copy } from './copy';
import { QUOTES, writeField } from './field';
import { DIGITS, writeNumber } from './number';

/** The row that comes next. */
export let nextRow: i32 = 0;
/** Where the last row ends; with `rowsStop` 2 where the own fields of `nextRow` end. */
export let rowsEnd: i32 = 0;
/** Why the call stopped: 0 all is written; 1 no room for the next row; 2 its answer is to be written by others. */
export let rowsStop: i32 = 0;

// A part, as rows-kernel.ts lays it out: eight numbers.
const BYTES: usize = 0;
const STARTS: usize = 4;
const ENDS: usize = 8;
/** Fields of a result. */
const FIELDS: usize = 12;
/** Address of the answers' places in a result, -1 for one that it has not; 0: the answers are written by others. */
const ANSWERS: usize = 16;
/** What stands behind the answers: address and length. */
const TAIL: usize = 20;
const TAIL_BYTES: usize = 24;
const PART_BYTES_LOG2: i32 = 5;

/**
 * @param lead address of what stands between a record's own fields and its answers, of `leadBytes`.
 * @param choices how many fields are chosen; below 0 a record is copied as it stands.
 * @param parts, part, result addresses: of all parts, and for each record which part and which result in it.
 * @param numbers address of the records' numbers, which end the rows; 0: they do not.
 */
export function writeRows(
  first: i32,
  last: i32,
  bytes: i32,
  starts: i32,
  ends: i32,
  fields: i32,
  delimiter: i32,
  chosen: i32,
  choices: i32,
  lead: i32,
  leadBytes: i32,
  answers: i32,
  parts: i32,
  part: i32,
  result: i32,
  numbers: i32,
  out: i32,
  room: i32,
): void {
  rowsStop = 0;
  let row = first;
  for (; row < last; row++) {
    const start = load<i32>(starts + (row << 2));
    const recordEnds = ends + ((row * fields) << 2);
    const end = load<i32>(recordEnds + ((fields - 1) << 2));
    const from = parts + (load<i32>(part + (row << 2)) << PART_BYTES_LOG2);
    const places = load<i32>(from, ANSWERS);
    const width = load<i32>(from, FIELDS);
    const place = load<i32>(result + (row << 2));
    const resultStart = places === 0 ? 0 : load<i32>(load<i32>(from, STARTS) + (place << 2));
    const resultEnds = load<i32>(from, ENDS) + ((place * width) << 2);
    const resultEnd = places === 0 ? 0 : load<i32>(resultEnds + ((width - 1) << 2));
    const own = end - start + max(choices, 0) * (QUOTES + 1);
    const answered = leadBytes + (resultEnd - resultStart) * 2 + answers * (QUOTES + 1);
    if (out + own + answered + load<i32>(from, TAIL_BYTES) + DIGITS + SPARE > room) {
      rowsStop = 1;
      break;
    }

    if (choices < 0) out = copy(bytes + start, bytes + end, out);
    for (let choice = 0; choice < choices; choice++) {
      const field = load<i32>(chosen + (choice << 2));
      if (choice > 0) store<u8>(out++, <u8>COMMA);
      out = writeField(
        bytes + fieldStart(start, recordEnds, field),
        bytes + load<i32>(recordEnds + (field << 2)),
        delimiter,
        out,
      );
    }
    if (places === 0) {
      rowsStop = 2;
      break;
    }
    out = copy(lead, lead + leadBytes, out);
    const partBytes = load<i32>(from, BYTES);
    for (let answer = 0; answer < answers; answer++) {
      store<u8>(out++, <u8>COMMA);
      const field = load<i32>(places + (answer << 2));
      if (field < 0) continue;
      out = writeField(
        partBytes + fieldStart(resultStart, resultEnds, field),
        partBytes + load<i32>(resultEnds + (field << 2)),
        COMMA,
        out,
      );
    }
    const tail = load<i32>(from, TAIL);
    out = copy(tail, tail + load<i32>(from, TAIL_BYTES), out);
    if (numbers !== 0) out = writeNumber(<u64>load<i32>(numbers + (row << 2)), out);
    store<u8>(out++, <u8>LF);
  }
  nextRow = row;
  rowsEnd = out;
}

/** What `copy` may write too much, more than once. */
const SPARE: i32 = 64;

function fieldStart(start: i32, ends: i32, field: i32): i32 {
  return field === 0 ? start : load<i32>(ends + ((field - 1) << 2)) + 1;
}
