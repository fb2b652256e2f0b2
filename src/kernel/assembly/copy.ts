// Copies bytes sixteen at a time. Up to 15 bytes behind either end are read, and written over: there must be room.

import { COMMA, CR, LF, QUOTE } from './bytes';

/** Copies [from, to) to `out`, and returns where that ends. */
export function copy(from: i32, to: i32, out: i32): i32 {
  let at = from;
  for (; at < to; at += 16, out += 16) v128.store(out, v128.load(at));
  return out + to - at;
}

/** The same if no byte needs quotes in a comma CSV; otherwise 0, and what is at `out` means nothing. */
export function copyPlain(from: i32, to: i32, out: i32): i32 {
  const commas = i8x16.splat(<i8>COMMA);
  const quotes = i8x16.splat(<i8>QUOTE);
  const returns = i8x16.splat(<i8>CR);
  const lineFeeds = i8x16.splat(<i8>LF);
  let at = from;
  for (; at < to; at += 16, out += 16) {
    const sixteen = v128.load(at);
    v128.store(out, sixteen);
    let bits = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(sixteen, commas), i8x16.eq(sixteen, quotes)),
        v128.or(i8x16.eq(sixteen, returns), i8x16.eq(sixteen, lineFeeds)),
      ),
    );
    if (to - at < 16) bits &= (1 << (to - at)) - 1;
    if (bits !== 0) return 0;
  }
  return out + to - at;
}
