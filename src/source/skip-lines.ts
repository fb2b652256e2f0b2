/** Skips lines before the header of a file (`source.skipLines`), whatever they hold: they need not be CSV. */
import { CR, LF } from '../csv/bytes.js';
import { SourceError } from '../errors.js';
import type { Dialect } from '../types.js';
import { readDecoded } from './read-decoded.js';

export interface SkippedLines {
  /** The text after the skipped lines, as far as it was read. */
  readonly text: Buffer;
  /** Whether the text ends with the file. */
  readonly isWhole: boolean;
  /** Decoded bytes before the text. */
  readonly bytes: number;
  /** Line feeds in them. */
  readonly lineFeeds: number;
}

/**
 * Reads the decoded text of a file after its first lines. A line ends with LF, CRLF or CR.
 *
 * @param most bytes of text to read after them.
 * @throws SourceError `SOURCE_LINES_SKIPPED` when nothing follows the skipped lines.
 */
export async function skipLines(
  file: { readonly path: string; readonly dialect: Dialect },
  lines: number,
  most: number,
): Promise<SkippedLines> {
  const skip = createSkip(lines);
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of readDecoded(file, 0, {})) {
    const text = piece.subarray(skip.take(piece));
    pieces.push(Buffer.from(text));
    size += text.length;
    if (size > most) break;
  }
  if (size === 0) throw nothingLeft(file.path, lines, skip.seen());
  const text = Buffer.concat(pieces);
  return {
    text: text.subarray(0, most),
    isWhole: size <= most,
    bytes: skip.bytes,
    lineFeeds: skip.lineFeeds,
  };
}

interface LineSkip {
  bytes: number;
  lineFeeds: number;
  /** How many of the next bytes are skipped. */
  take(piece: Uint8Array): number;
  /** Lines so far, including one without an end. */
  seen(): number;
}

function createSkip(lines: number): LineSkip {
  let left = lines;
  let isAfterReturn = false;
  let isWithin = false;
  const skip: LineSkip = {
    bytes: 0,
    lineFeeds: 0,
    take: (piece) => {
      let at = 0;
      for (; at < piece.length; at++) {
        const byte = piece[at];
        const isSecond = isAfterReturn && byte === LF;
        if (left === 0 && !isSecond) break;
        if (byte === LF) skip.lineFeeds++;
        const isEnd = !isSecond && (byte === CR || byte === LF);
        if (isEnd) left--;
        isWithin = !isEnd && !isSecond;
        isAfterReturn = byte === CR;
      }
      if (at < piece.length) isAfterReturn = false;
      skip.bytes += at;
      return at;
    },
    seen: () => lines - left + (isWithin ? 1 : 0),
  };
  return skip;
}

function nothingLeft(path: string, lines: number, seen: number): SourceError {
  return new SourceError(
    'SOURCE_LINES_SKIPPED',
    `${path}: nothing is left after the lines to skip: source.skipLines is ${lines}, and the file has ${seen} ${seen === 1 ? 'line' : 'lines'}`,
    {
      hint: 'lower source.skipLines to the number of lines before the header; if the file should be longer, check what writes it',
      facts: { file: path, skipLines: lines, lines: seen },
    },
  );
}
