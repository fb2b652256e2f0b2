// Counts line ends outside quotes, those of blank lines left out. What one call has seen of a line is given to the next.

import { CR, LF, QUOTE } from './bytes';

/** Filled lines that ended in the last call. */
export let lineCount: i32 = 0;
/** Whether the line that has not ended yet holds anything. */
export let isFilled: bool = false;
/** Whether that line ends within quotes so far. */
export let inQuotes: bool = false;

/**
 * Looks at [from, to). Up to 16 bytes behind `to` are read and not used.
 * @param filled, quoted `isFilled` and `inQuotes` of the bytes before.
 */
export function countLines(from: i32, to: i32, filled: bool, quoted: bool): void {
  const quotes = i8x16.splat(<i8>QUOTE);
  const lineFeeds = i8x16.splat(<i8>LF);
  let lineStart = from;
  lineCount = 0;
  isFilled = filled;
  inQuotes = quoted;
  for (let block = from; block < to; block += 16) {
    const sixteen = v128.load(block);
    let bits = i8x16.bitmask(v128.or(i8x16.eq(sixteen, lineFeeds), i8x16.eq(sixteen, quotes)));
    if (to - block < 16) bits &= (1 << (to - block)) - 1;
    for (; bits !== 0; bits &= bits - 1) {
      const at = block + ctz<i32>(bits);
      if (<i32>load<u8>(at) === QUOTE) {
        inQuotes = !inQuotes;
        isFilled = true;
      } else if (!inQuotes) {
        if (isFilled || holdsAny(lineStart, at)) lineCount++;
        isFilled = false;
        lineStart = at + 1;
      }
    }
  }
  if (!isFilled) isFilled = holdsAny(lineStart, to);
}

/** Whether there is any byte but CR. */
function holdsAny(from: i32, to: i32): bool {
  while (from < to && load<u8>(from) === CR) from++;
  return from < to;
}
