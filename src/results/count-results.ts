/** Counts the results of a part while its bytes pass by, so that a short part is noticed before it is joined. */

export interface CountedContent {
  /** The same bytes. */
  readonly content: AsyncIterable<Buffer>;
  /** Results seen so far, the header not counted; blank lines are none. */
  count(): number;
}

/**
 * Counts line ends outside quotes. That is right for every well-formed CSV; whether this one is well-formed,
 * the scanner finds out when the results are joined.
 */
export function countResults(content: AsyncIterable<Buffer>): CountedContent {
  let records = 0;
  let inQuotes = false;
  let filled = false;

  const look = (bytes: Uint8Array) => {
    for (let i = 0; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte === quote) {
        inQuotes = !inQuotes;
        filled = true;
      } else if (byte === lineFeed && !inQuotes) {
        if (filled) records += 1;
        filled = false;
      } else if (byte !== carriageReturn) {
        filled = true;
      }
    }
  };
  const pass = async function* () {
    for await (const piece of content) {
      look(piece);
      yield piece;
    }
  };
  return { content: pass(), count: () => Math.max(records + (filled ? 1 : 0) - 1, 0) };
}

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
