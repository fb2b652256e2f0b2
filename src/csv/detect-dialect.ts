/** Detects the dialect of a file from its first bytes, as far as the config does not fix it. */

import iconv from 'iconv-lite';
import { ConfigError } from '../errors.js';
import type { Dialect } from '../types.js';
import { UTF8_BOM } from './bytes.js';
import { detectDelimiter, type Reading, readWith } from './detect-delimiter.js';
import { detectEncoding } from './detect-encoding.js';

export interface FixedDialect {
  /** `auto`, or a name that iconv-lite knows. */
  readonly encoding: string;
  /** `auto`, or one ASCII character. */
  readonly delimiter: string;
  readonly gzip: boolean;
}

/**
 * Detects encoding, byte order mark, delimiter and line ends of a file.
 *
 * @param sample the file's first 256 KiB, unzipped; all of it if it is smaller.
 * @throws ConfigError for an unknown encoding or an impossible delimiter.
 */
export function detectDialect(sample: Buffer, fixed: FixedDialect): Dialect {
  const { encoding, bom } = detectEncoding(sample, fixed.encoding);
  const text =
    encoding === 'utf8'
      ? sample.subarray(bom ? UTF8_BOM.length : 0)
      : Buffer.from(iconv.decode(sample, encoding));
  const reading =
    fixed.delimiter === 'auto' ? detectDelimiter(text) : readWith(text, delimiterByte(fixed.delimiter));
  return {
    encoding,
    bom,
    delimiter: String.fromCharCode(reading.delimiter),
    newline: newlineOf(reading),
    gzip: fixed.gzip,
  };
}

function delimiterByte(delimiter: string): number {
  if (/^[\t\x20-\x7e]$/.test(delimiter) && delimiter !== '"') return delimiter.charCodeAt(0);
  throw new ConfigError(
    'CONFIG_DELIMITER',
    `source.delimiter: ${JSON.stringify(delimiter)} cannot separate fields: one ASCII character is expected`,
    { hint: 'use auto, or one character such as "," or ";" or "\\t"', facts: { delimiter } },
  );
}

function newlineOf({ lf, crlf }: Reading): Dialect['newline'] {
  if (lf > 0 && crlf > 0) return 'mixed';
  if (crlf > 0) return 'CRLF';
  return lf > 0 ? 'LF' : 'none';
}
