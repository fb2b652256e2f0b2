// Counts line ends outside quotes, without those of blank lines. The caller passes the state of an unfinished line from
// call to call.

import { BLOCK_BYTES, bitsBefore, bitsOf, oddUpTo } from './block';
import { CR, LF, QUOTE } from './bytes';

/** Filled lines that ended in the last call. */
export let lineCount: i32 = 0;
/** Whether the unfinished line holds anything but CR. */
export let isFilled: bool = false;
/** Whether the unfinished line is within quotes. */
export let inQuotes: bool = false;

/**
 * Counts in [from, to). Up to 64 bytes after `to` are read and not used.
 *
 * @param filled, quoted `isFilled` and `inQuotes` after the bytes before.
 */
export function countLines(from: i32, to: i32, filled: bool, quoted: bool): void {
  const quoteBytes = i8x16.splat(<i8>QUOTE);
  const lineFeedBytes = i8x16.splat(<i8>LF);
  const returnBytes = i8x16.splat(<i8>CR);
  let found = 0;
  let begins: u64 = filled ? 0 : 1;
  let odd: u64 = quoted ? ~(<u64>0) : 0;
  for (let block = from; block < to; block += BLOCK_BYTES) {
    const known = bitsBefore(block, to);
    const quotes = bitsOf(block, quoteBytes) & known;
    const returns = bitsOf(block, returnBytes) & known;
    let lineFeeds = bitsOf(block, lineFeedBytes) & known;
    if ((quotes | odd) !== 0) {
      const within = oddUpTo(quotes) ^ odd;
      lineFeeds &= ~within;
      odd = <u64>(<i64>within >> 63);
    }
    // Where a line is still empty: at its first byte, and after CRs there, through which the addition carries a bit.
    const lineStarts = (lineFeeds << 1) | begins;
    const sum = (lineStarts & returns) + returns;
    const empty = (lineStarts | sum) & ~returns;
    found += <i32>popcnt(lineFeeds & ~empty);
    const rest = to - block;
    if (rest < BLOCK_BYTES) begins = (empty >> <u64>rest) & 1;
    else begins = (lineFeeds >> 63) | <u64>(sum < returns);
  }
  lineCount = found;
  isFilled = begins === 0;
  inQuotes = odd !== 0;
}
