// Finds records and fields, sixteen bytes at a time: only delimiters, quotes and line feeds are looked at.
// What is not certainly well-formed stops the scan in front of it; the careful scan (window-scan.ts) judges it.

import { CR, LF, QUOTE } from './bytes';

/** Records found. */
export let count: i32 = 0;
/** Where the first record that was not taken begins. */
export let next: i32 = 0;
/** Line feeds before `next`. */
export let lines: i32 = 0;
/** Whether the scan stopped in front of something that is not certainly well-formed. */
export let isDoubtful: bool = false;

/**
 * Scans [from, to) of the window, which begins at a record. A record counts once its line feed is seen.
 * Up to 16 bytes behind `to` are read and not used. All places found are counted from the window's begin.
 * @param window its address.
 * @param starts where each record begins: room for `capacity` of them.
 * @param ends where each field ends: room for `capacity * fields`.
 */
export function scan(
  window: i32,
  from: i32,
  to: i32,
  delimiter: i32,
  fields: i32,
  maxRecordBytes: i32,
  starts: i32,
  ends: i32,
  capacity: i32,
): void {
  const delimiters = i8x16.splat(<i8>delimiter);
  const quotes = i8x16.splat(<i8>QUOTE);
  const lineFeeds = i8x16.splat(<i8>LF);
  let found = 0;
  let lineCount = 0;
  let recordLines = 0;
  let start = from;
  let fieldStart = from;
  let slot = 0;
  let inQuotes = false;
  // Behind a closing quote; -1 where the field has none.
  let closed = -1;
  let doubtful = false;

  for (let block = from; block < to && !doubtful && found < capacity; block += 16) {
    const sixteen = v128.load(window + block);
    let bits = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(sixteen, delimiters), i8x16.eq(sixteen, lineFeeds)),
        i8x16.eq(sixteen, quotes),
      ),
    );
    if (to - block < 16) bits &= (1 << (to - block)) - 1;
    while (bits !== 0) {
      const at = block + ctz<i32>(bits);
      bits &= bits - 1;
      const byte: i32 = load<u8>(window + at);
      if (inQuotes) {
        if (byte === QUOTE) {
          inQuotes = false;
          closed = at + 1;
        } else if (byte === LF) recordLines++;
        continue;
      }
      if (byte === QUOTE) {
        doubtful = at !== closed && (at !== fieldStart || closed >= 0);
        if (doubtful) break;
        inQuotes = true;
        closed = -1;
        continue;
      }
      if (closed >= 0) {
        doubtful = closed !== at && !(byte === LF && closed === at - 1 && load<u8>(window + closed) === CR);
        if (doubtful) break;
        closed = -1;
      }
      if (byte === delimiter) {
        // One end too many would be written over by the next record, and makes this one doubtful at its end.
        if (slot < fields) store<i32>(ends + (slot << 2), at);
        slot++;
        fieldStart = at + 1;
        continue;
      }
      const end = at > start && load<u8>(window + at - 1) === CR ? at - 1 : at;
      if (end !== start) {
        doubtful = slot + 1 !== fields || end - start > maxRecordBytes;
        if (doubtful) break;
        store<i32>(ends + (slot << 2), end);
        store<i32>(starts + (found << 2), start);
        ends += fields << 2;
        found++;
      }
      slot = 0;
      lineCount += recordLines + 1;
      recordLines = 0;
      start = fieldStart = at + 1;
      if (found === capacity) break;
    }
  }
  count = found;
  next = start;
  lines = lineCount;
  isDoubtful = doubtful;
}
