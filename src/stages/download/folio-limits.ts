/**
 * What a folio may hold, in all its parts together: rule "The service is not trusted"
 * (docs/architecture.md#the-service-is-not-trusted). When a folio is joined, all its parts are in memory at once.
 */

import type { ChunkRow } from '../../checkpoint/checkpoint.js';
import { COMMA, LF, QUOTE } from '../../csv/bytes.js';
import { UntrustedError } from '../../errors.js';
import { countOf, formatBytes } from '../../quantities.js';
import { askProvider } from '../../results/mismatch-hints.js';
import { MAX_PART_BYTES } from '../../results/part-table.js';
import type { Bytes, FolioCounts, PartReference } from '../../types.js';

/** The most columns of a part besides those that were sent. */
const MAX_ADDED_COLUMNS = 1000;

/**
 * Checks that a folio lists no more successful parts than it has successful records. One part is always allowed.
 * @throws UntrustedError `TOO_MANY_PARTS`.
 */
export function checkListing(chunk: ChunkRow, { successful }: FolioCounts, parts: number): void {
  if (parts <= Math.max(1, Math.min(successful, chunk.records))) return;
  throw folioError('TOO_MANY_PARTS', chunk, { parts, successful }, [
    `lists ${countOf(parts, 'part')} for ${countOf(successful, 'successful record')};`,
    `${countOf(chunk.records, 'record')} were sent`,
  ]);
}

/**
 * The most bytes of all parts of a folio: twice the uploaded bytes plus 4 KiB of answer for each record, and no more
 * than can be read as tables.
 */
export function maxFolioBytes({ bytes, records }: Pick<ChunkRow, 'bytes' | 'records'>): Bytes {
  return Math.min(2 * bytes + 4096 * records + 1024 * 1024, MAX_PART_BYTES);
}

/** Counts the bytes of all parts of a folio, including those that are being fetched at the same time. */
export interface FolioBytes {
  /** The bytes so far. */
  readonly held: Bytes;
  /**
   * Passes on the pieces of a part and counts them. A part that is fetched again counts once.
   * @throws UntrustedError `FOLIO_TOO_LARGE`.
   */
  count(part: PartReference, content: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
}

/** @param held the bytes of the parts that are stored already. */
export function createFolioBytes(chunk: ChunkRow, held: Bytes): FolioBytes {
  const max = maxFolioBytes(chunk);
  const arrived = new Map<string, Bytes>();
  let all = held;
  return {
    get held() {
      return all;
    },
    count: async function* (part, content) {
      const name = `${part.fileStatus} ${part.part}`;
      all -= arrived.get(name) ?? 0;
      arrived.set(name, 0);
      for await (const piece of content) {
        arrived.set(name, arrived.get(name)! + piece.length);
        all += piece.length;
        if (all > max) throw folioTooLargeError(chunk, part);
        yield piece;
      }
    },
  };
}

/** The error of a folio whose parts are larger than `maxFolioBytes`. */
export function folioTooLargeError(chunk: ChunkRow, { fileStatus, part }: PartReference): UntrustedError {
  const maxBytes = maxFolioBytes(chunk);
  return folioError('FOLIO_TOO_LARGE', chunk, { part, fileStatus, maxBytes }, [
    `has more than ${formatBytes(maxBytes)} in its parts up to ${fileStatus} part ${part};`,
    `${countOf(chunk.records, 'record')} with ${formatBytes(chunk.bytes)} were sent`,
  ]);
}

/**
 * Counts the columns of a part's header.
 * @param sent the number of columns that were sent.
 * @returns a function that takes the part's bytes in order; it throws UntrustedError `PART_TOO_WIDE`.
 */
export function createColumnLimit(
  sent: number,
  chunk: ChunkRow,
  { fileStatus, part }: PartReference,
): (bytes: Uint8Array) => void {
  let columns = 1;
  let isQuoted = false;
  let isHeader = true;
  return (bytes) => {
    for (let at = 0; isHeader && at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE) isQuoted = !isQuoted;
      else if (isQuoted) continue;
      else if (byte === COMMA) columns += 1;
      else if (byte === LF) isHeader = false;
    }
    if (columns <= sent + MAX_ADDED_COLUMNS) return;
    throw folioError('PART_TOO_WIDE', chunk, { part, fileStatus, columns }, [
      `has ${countOf(columns, 'column')}${isHeader ? ' or more' : ''} in ${fileStatus} part ${part};`,
      `${countOf(sent, 'column')} were sent, and ${MAX_ADDED_COLUMNS} more may come back`,
    ]);
  };
}

function folioError(
  code: string,
  { number, folio }: ChunkRow,
  facts: Readonly<Record<string, string | number>>,
  words: readonly string[],
): UntrustedError {
  return new UntrustedError(code, `chunk ${number}: folio ${folio} ${words.join(' ')}`, {
    hint: askProvider,
    facts: { chunk: number, folio, ...facts },
  });
}
