// Hashes records of a batch: the bytes that an uploaded file holds for them, without the number, the line feed, and the
// quotes that its fields do not need.

import { isBlankField } from './blank';
import { hasByte } from './block';
import { COMMA, QUOTE } from './bytes';
import { fieldStart, missingRoom, UNQUOTED, writeRuns } from './field';
import { sipHash } from './siphash';

/** Index of the record at which the last call stopped. */
export let hashedTo: i32 = 0;
/** Bytes of room that this record needs; 0 where the call did not stop for lack of room. */
export let hashNeed: i32 = 0;

/** Bytes of a hash. */
const HASH_BYTES: i32 = 16;

/**
 * Hashes records `first` to `last` (exclusive). The hash of a record that is blank in all chosen fields is zero.
 *
 * @param bytes, starts, ends addresses of the batch; offsets count from `bytes`.
 * @param chosen, runs address and number of the runs of chosen fields, as `writeRuns` takes them.
 * @param key address of the key.
 * @param out address of the hash of record 0.
 * @param scratch address at which a record's bytes are written.
 * @param room address after the room for them.
 */
export function hashRecords(
  first: i32,
  last: i32,
  bytes: i32,
  starts: i32,
  ends: i32,
  fields: i32,
  delimiter: i32,
  chosen: i32,
  runs: i32,
  key: i32,
  out: i32,
  scratch: i32,
  room: i32,
): void {
  hashNeed = 0;
  let at = first;
  for (; at < last; at++) {
    const start = load<i32>(starts + (at << 2));
    const recordEnds = ends + ((at * fields) << 2);
    hashNeed = missingRoom(start, recordEnds, fields, chosen, runs, 0, scratch, room);
    if (hashNeed !== 0) break;
    const hash = out + at * HASH_BYTES;
    if (isBlank(bytes, start, recordEnds, chosen, runs)) {
      v128.store(hash, i64x2.splat(0));
      continue;
    }
    let end = writeRuns(bytes, start, recordEnds, chosen, runs, delimiter, scratch);
    if (delimiter === COMMA && hasByte(scratch, end, QUOTE)) {
      end = writeRuns(bytes, start, recordEnds, chosen, runs, UNQUOTED, scratch);
    }
    sipHash(scratch, end - scratch, key, hash);
  }
  hashedTo = at;
}

/** Whether a record is blank in all chosen fields. @param runs as `writeRuns` takes them, without empty fields. */
function isBlank(bytes: i32, start: i32, ends: i32, runs: i32, count: i32): bool {
  for (let run = 0; run < count; run++) {
    const first = load<i32>(runs + (run << 3));
    const last = load<i32>(runs + (run << 3), 4);
    for (let field = first; field <= last; field++) {
      const from = bytes + fieldStart(start, ends, field);
      if (!isBlankField(from, bytes + load<i32>(ends + (field << 2)))) return false;
    }
  }
  return true;
}
