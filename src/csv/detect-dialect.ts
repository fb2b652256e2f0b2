/** Detects the dialect of a file from its first text, as far as the config does not fix it. */
import { ConfigError } from '../errors.js';
import type { Dialect } from '../types.js';
import { detectDelimiter, type Found, readWith } from './detect-delimiter.js';
import type { FoundEncoding } from './detect-encoding.js';

export interface FixedDialect {
  /** `auto`, or one ASCII character. */
  readonly delimiter: string;
  /** `none`: quotes are text. */
  readonly quote?: 'auto' | 'none';
  readonly gzip: boolean;
}

/**
 * Detects delimiter and line ends of a file.
 *
 * @param text the beginning of the file, decoded: 64 KiB of it are read.
 * @throws ConfigError for an impossible delimiter.
 */
export function detectDialect(text: Buffer, { encoding, bom }: FoundEncoding, fixed: FixedDialect): Dialect {
  const isQuoted = fixed.quote !== 'none';
  const found =
    fixed.delimiter === 'auto'
      ? detectDelimiter(text, isQuoted)
      : readWith(text, delimiterByte(fixed.delimiter), isQuoted);
  return {
    encoding,
    bom,
    delimiter: String.fromCharCode(found.delimiter),
    newline: newlineOf(found),
    gzip: fixed.gzip,
    ...(!isQuoted && { quote: 'none' }),
  };
}

const TAB = 0x09;

function delimiterByte(delimiter: string): number {
  if (delimiter === '\\t') return TAB;
  if (/^[\t\x20-\x7e]$/.test(delimiter) && delimiter !== '"') return delimiter.charCodeAt(0);
  throw new ConfigError(
    'CONFIG_DELIMITER',
    `source.delimiter: ${JSON.stringify(delimiter)} cannot separate fields: one ASCII character is expected`,
    { hint: 'use auto, or one character such as , or ; or \\t (a tab)', facts: { delimiter } },
  );
}

function newlineOf({ lf, crlf }: Found): Dialect['newline'] {
  if (lf > 0 && crlf > 0) return 'mixed';
  if (crlf > 0) return 'CRLF';
  return lf > 0 ? 'LF' : 'none';
}
