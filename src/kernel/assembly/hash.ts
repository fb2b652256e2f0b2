// Hashes records of a batch: the bytes that an uploaded file holds for them, without the number and the line feed.

import { COMMA, CR, LF, QUOTE } from './bytes';
import { missingRoom, writeRuns } from './field';
import { sipHash } from './siphash';

/** Index of the record at which the last call stopped. */
export let hashedTo: i32 = 0;
/** Bytes of room that this record needs; 0 where the call did not stop for lack of room. */
export let hashNeed: i32 = 0;

/** Bytes of a hash. */
const HASH_BYTES: i32 = 16;
const SPACE: i32 = 0x20;
const TAB: i32 = 0x09;

/**
 * Hashes records `first` to `last` (exclusive). The hash of a record that is blank in all chosen fields is zero.
 *
 * @param bytes, starts, ends addresses of the batch; offsets count from `bytes`.
 * @param chosen, runs address and number of the runs of chosen fields, as `writeRuns` takes them.
 * @param key address of the key.
 * @param out address of the hash of record 0.
 * @param scratch address at which a record's bytes are written.
 * @param room address behind the room for them.
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
    const end = writeRuns(bytes, start, recordEnds, chosen, runs, delimiter, scratch);
    const hash = out + at * HASH_BYTES;
    if (isBlank(scratch, end)) v128.store(hash, i64x2.splat(0));
    else sipHash(scratch, end - scratch, key, hash);
  }
  hashedTo = at;
}

/** Whether all fields of a record of a comma CSV hold nothing but spaces, tabs and line ends. */
function isBlank(from: i32, to: i32): bool {
  let quoted = false;
  for (let at = from; at < to; at++) {
    const byte = <i32>load<u8>(at);
    if (byte === SPACE || byte === TAB || byte === CR || byte === LF) continue;
    if (byte === QUOTE) {
      // A quote within the quotes is the first of two.
      if (quoted && at + 1 < to && <i32>load<u8>(at + 1) === QUOTE) return false;
      quoted = !quoted;
    } else if (byte !== COMMA || quoted) return false;
  }
  return true;
}
