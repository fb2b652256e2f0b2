// Writes rows of the output: a record's own fields, and the answer of its result.

import { COMMA, LF } from './bytes';
import { copy, SPARE } from './copy';
import { DIGITS, exactSize, roughSize, writeNumber, writeRuns } from './field';

/** Index of the next row. */
export let nextRow: i32 = 0;
/** Where the last row ends; where `rowsStop` is 2: where the own fields of `nextRow` end. */
export let rowsEnd: i32 = 0;
/** Why the call stopped: 0: all is written; 1: no room for the next row; 2: the caller has to write its answer. */
export let rowsStop: i32 = 0;
/** Bytes of room that the next row needs after `rowsEnd`, where there was too little. */
export let rowsNeed: i32 = 0;

// Offsets in a part, as rows-kernel.ts writes it: sixteen numbers; thirteen are used.
const BYTES: usize = 0;
const STARTS: usize = 4;
const ENDS: usize = 8;
/** Fields of a result. */
const FIELDS: usize = 12;
/** Address of the answers' runs, and how many; address 0: the caller writes the answers. */
const ANSWERS: usize = 16;
const ANSWER_RUNS: usize = 20;
/** Written between a record's own fields and its answers: address and length. */
const LEAD: usize = 24;
const LEAD_BYTES: usize = 28;
/** Written after the answers: address and length. */
const TAIL: usize = 32;
const TAIL_BYTES: usize = 36;
/** Written after the record's number, at the end of the row: address and length. */
const END: usize = 40;
const END_BYTES: usize = 44;
/** The delimiter of the answers, or `AS_IS`. */
const DELIMITER: usize = 48;
const PART_BYTES_LOG2: i32 = 6;

/**
 * Writes rows `first` to `last` (exclusive), as far as there is room.
 *
 * @param bytes address of the records; their offsets count from there.
 * @param chosen, runs address and number of the runs of chosen fields, as `writeRuns` takes them.
 * @param parts, part, result addresses: of all parts, and for each record of the index of its part and its result.
 * @param numbers address of the records' numbers, which follow the tail; 0: rows have no number. A number 0 stays empty.
 * @param out address of the rows.
 * @param room address after the room for them.
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
  runs: i32,
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
    const answers = load<i32>(from, ANSWERS);
    const answerRuns = load<i32>(from, ANSWER_RUNS);
    const width = load<i32>(from, FIELDS);
    const resultRow = load<i32>(result + (row << 2));
    const resultStart = answers === 0 ? 0 : load<i32>(load<i32>(from, STARTS) + (resultRow << 2));
    const resultEnds = load<i32>(from, ENDS) + ((resultRow * width) << 2);
    const resultEnd = answers === 0 ? 0 : load<i32>(resultEnds + ((width - 1) << 2));
    const around =
      <i64>load<i32>(from, LEAD_BYTES) +
      <i64>load<i32>(from, TAIL_BYTES) +
      <i64>load<i32>(from, END_BYTES) +
      DIGITS +
      SPARE;
    const rough =
      roughSize(end - start, fields, runs) + roughSize(resultEnd - resultStart, width, answerRuns);
    if (<i64>out + rough + around > <i64>room) {
      const need =
        exactSize(start, recordEnds, chosen, runs) +
        exactSize(resultStart, resultEnds, answers, answerRuns) +
        around;
      if (<i64>out + need > <i64>room) {
        rowsStop = 1;
        rowsNeed = <i32>min(need, <i64>i32.MAX_VALUE);
        break;
      }
    }

    out = writeRuns(bytes, start, recordEnds, chosen, runs, delimiter, out);
    if (answers === 0) {
      rowsStop = 2;
      break;
    }
    const lead = load<i32>(from, LEAD);
    out = copy(lead, lead + load<i32>(from, LEAD_BYTES), out);
    if (answerRuns > 0) store<u8>(out++, <u8>COMMA);
    const answersDelimiter = load<i32>(from, DELIMITER);
    out = writeRuns(
      load<i32>(from, BYTES),
      resultStart,
      resultEnds,
      answers,
      answerRuns,
      answersDelimiter,
      out,
    );
    const tail = load<i32>(from, TAIL);
    out = copy(tail, tail + load<i32>(from, TAIL_BYTES), out);
    if (numbers !== 0) {
      const number = load<i32>(numbers + (row << 2));
      if (number !== 0) out = writeNumber(<u64>number, out);
      const end = load<i32>(from, END);
      out = copy(end, end + load<i32>(from, END_BYTES), out);
    }
    store<u8>(out++, <u8>LF);
  }
  nextRow = row;
  rowsEnd = out;
}
