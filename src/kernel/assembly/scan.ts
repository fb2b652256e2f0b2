// Finds records and fields, sixty-four bytes at a time, by their delimiters, quotes and line feeds. Lists records that
// have another number of fields. Stops before any other record that may be malformed; the careful scan (window-scan.ts)
// decides.

import { BLOCK_BYTES, bitsBefore, bitsOf, oddUpTo } from './block';
import { CR, LF, QUOTE } from './bytes';

/** Records found. */
export let count: i32 = 0;
/** Where the first record that was not found complete begins. */
export let next: i32 = 0;
/** Line feeds before `next`. */
export let lines: i32 = 0;
/** Whether the scan stopped before something that may be malformed. */
export let isDoubtful: bool = false;
/** Records with another number of fields before `next`. */
export let miscounted: i32 = 0;

/** Numbers per such record: the records found before it, its start, its line feed, its fields, lines before it. */
const MISCOUNTED_INTS: i32 = 5;

/**
 * Scans [from, to) of the window, which begins at a record. A record is found once its line feed is seen. Up to 64
 * bytes after `to` are read and not used. All offsets found count from the start of the window.
 *
 * @param window address of the window.
 * @param starts address for the start of each record: room for `capacity` of them.
 * @param ends address for the end of each field: room for `capacity * fields`, and for 72 more that mean nothing.
 * @param others address for the records with another number of fields: room for `otherCapacity` of them.
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
  others: i32,
  otherCapacity: i32,
): void {
  const delimiters = i8x16.splat(<i8>delimiter);
  const quoteBytes = i8x16.splat(<i8>QUOTE);
  const lineFeedBytes = i8x16.splat(<i8>LF);
  const returnBytes = i8x16.splat(<i8>CR);
  const recordEnds = fields << 2;
  const startsEnd = starts + (capacity << 2);
  const firstStart = starts;
  let other = others;
  const othersEnd = others + ((otherCapacity * MISCOUNTED_INTS) << 2);
  let start = from;
  let lineCount = 0;
  let linesBefore = 0;
  /** Address for the next end. */
  let end = ends;
  let doubtful = false;
  // What goes from a block to the next, in the lowest bit: a field begins, a quote was closed, a CR followed that.
  // `inQuotes` has all bits set within quotes.
  let begins: u64 = 1;
  let closed: u64 = 0;
  let returned: u64 = 0;
  let inQuotes: u64 = 0;

  for (let block = from; block < to && !doubtful && starts < startsEnd; block += BLOCK_BYTES) {
    const at = window + block;
    const known = bitsBefore(block, to);
    let lineFeeds = bitsOf(at, lineFeedBytes) & known;
    let marks = (bitsOf(at, delimiters) & known) | lineFeeds;
    const quotes = bitsOf(at, quoteBytes) & known;
    const allLineFeeds = lineFeeds;
    if ((quotes | inQuotes | closed | returned) !== 0) {
      const within = oddUpTo(quotes) ^ inQuotes;
      marks &= ~within;
      const opening = quotes & within;
      const closing = quotes & ~within;
      const behind = (closing << 1) | closed;
      const returns = bitsOf(at, returnBytes) & known & behind;
      const afterReturn = (returns << 1) | returned;
      const wrong =
        (opening & ~((marks << 1) | begins | behind)) |
        (behind & known & ~(quotes | marks | returns)) |
        (afterReturn & known & ~lineFeeds);
      lineFeeds &= marks;
      closed = closing >> 63;
      returned = returns >> 63;
      inQuotes = <u64>(<i64>within >> 63);
      if (wrong !== 0) {
        doubtful = true;
        const right = (wrong & -wrong) - 1;
        marks &= right;
        lineFeeds &= right;
      }
    }
    begins = marks >> 63;

    let behind = storeEnds(end, marks, block);
    for (; lineFeeds !== 0; lineFeeds &= lineFeeds - 1) {
      const upTo = lineFeeds ^ (lineFeeds - 1);
      const lineFeed = block + <i32>ctz(lineFeeds);
      const recordEnd =
        lineFeed > start && <i32>load<u8>(window + lineFeed - 1) === CR ? lineFeed - 1 : lineFeed;
      const reached = end + ((<i32>popcnt(marks & upTo)) << 2);
      const isBlank = recordEnd === start;
      if (!isBlank && reached === ends + recordEnds && recordEnd - start <= maxRecordBytes) {
        store<i32>(reached - 4, recordEnd);
        store<i32>(starts, start);
        starts += 4;
        ends = reached;
      } else {
        if (!isBlank) {
          if (recordEnd - start > maxRecordBytes || other === othersEnd) {
            doubtful = true;
            break;
          }
          store<i32>(other, (starts - firstStart) >> 2);
          store<i32>(other, start, 4);
          store<i32>(other, lineFeed, 8);
          store<i32>(other, (reached - ends) >> 2, 12);
          store<i32>(other, lineCount, 16);
          other += MISCOUNTED_INTS << 2;
        }
        // No record was found: its ends are overwritten by the ends that were stored after it.
        marks &= ~upTo;
        end = ends;
        behind = storeEnds(end, marks, block);
      }
      start = lineFeed + 1;
      lineCount = linesBefore + <i32>popcnt(allLineFeeds & upTo);
      if (starts === startsEnd) break;
    }
    end = behind;
    if (end > ends + recordEnds) doubtful = true;
    linesBefore += <i32>popcnt(allLineFeeds);
  }
  count = (starts - firstStart) >> 2;
  next = start;
  lines = lineCount;
  isDoubtful = doubtful;
  miscounted = (other - others) / (MISCOUNTED_INTS << 2);
}

/** Stores the offsets of these marks, eight at a time, and returns the address for the next one. */
function storeEnds(end: i32, marks: u64, block: i32): i32 {
  const behind = end + ((<i32>popcnt(marks)) << 2);
  let out = end;
  do {
    store<i32>(out, block + <i32>ctz(marks));
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 4);
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 8);
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 12);
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 16);
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 20);
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 24);
    marks &= marks - 1;
    store<i32>(out, block + <i32>ctz(marks), 28);
    marks &= marks - 1;
    out += 32;
  } while (out < behind);
  return behind;
}
