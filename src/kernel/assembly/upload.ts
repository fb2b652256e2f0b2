// Writes records of a batch as records of an uploaded file: the record's number, the chosen fields, LF.

import { COMMA, LF, QUOTE } from './bytes';
import { DIGITS, missingRoom, writeNumber, writeRuns } from './field';

/** Records written by the last call. */
export let written: i32 = 0;
/** Where the last of them ends. */
export let outEnd: i32 = 0;
/** Bytes of room that the next record needs after `outEnd`; 0 where the call did not stop for lack of room. */
export let needsRoom: i32 = 0;

/**
 * Writes records `first` to `last` (exclusive) of a batch, as long as the file ends at or before `limit`.
 *
 * @param bytes, starts, ends addresses of the batch; offsets count from `bytes`.
 * @param chosen, runs address and number of the runs of chosen fields, as `writeRuns` takes them.
 * @param numbers address of the numbers of the records; 0: no numbers are written.
 * @param isEmpty whether the file holds no record yet; then its first record may exceed `limit`.
 * @param out address after what the file holds already.
 * @param limit largest address of the file's end.
 * @param room address after the room.
 */
export function writeUpload(
  bytes: i32,
  starts: i32,
  ends: i32,
  fields: i32,
  delimiter: i32,
  chosen: i32,
  runs: i32,
  first: i32,
  last: i32,
  numbers: i32,
  isEmpty: bool,
  out: i32,
  limit: i32,
  room: i32,
): void {
  let at = first;
  needsRoom = 0;
  for (; at < last; at++) {
    const start = load<i32>(starts + (at << 2));
    const recordEnds = ends + ((at * fields) << 2);
    needsRoom = missingRoom(start, recordEnds, fields, chosen, runs, DIGITS, out, room);
    if (needsRoom !== 0) break;
    let end = numbers === 0 ? out : writeNumber(<u64>load<u32>(numbers + (at << 2)), out);
    if (numbers !== 0 && runs > 0) store<u8>(end++, <u8>COMMA);
    end = writeRuns(bytes, start, recordEnds, chosen, runs, delimiter, end);
    if (end === out) {
      // A blank line would not count as a record.
      store<u8>(end++, <u8>QUOTE);
      store<u8>(end++, <u8>QUOTE);
    }
    store<u8>(end++, <u8>LF);
    if (end > limit && !(isEmpty && at === first)) break;
    out = end;
  }
  written = at - first;
  outEnd = out;
}
