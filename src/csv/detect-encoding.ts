/** Detects the encoding of a file: from a byte order mark, from the NUL bytes of UTF-16, or from the config. */
import iconv from 'iconv-lite';
import { ConfigError } from '../errors.js';
import { NUL, UTF8_BOM } from './bytes.js';

export interface FoundEncoding {
  /** A name that iconv-lite knows; `utf8` for every spelling of UTF-8. */
  readonly encoding: string;
  /** Whether the file begins with the encoding's byte order mark. */
  readonly bom: boolean;
}

/**
 * Finds the encoding of a file. `auto` means UTF-8, unless a byte order mark or a pattern of NUL bytes shows another
 * encoding. A one-byte encoding is never guessed, because a wrong guess would change letters unnoticed.
 *
 * @param sample the file's first bytes, unzipped.
 * @param fixed the config's `source.encoding`.
 * @throws ConfigError `CONFIG_ENCODING` for a name that iconv-lite does not know.
 */
export function detectEncoding(sample: Uint8Array, fixed: string): FoundEncoding {
  const name = fixed.toLowerCase().replace(/[^a-z0-9]/g, '');
  const marked = MARKS.find(([, mark]) => mark.equals(sample.subarray(0, mark.length)))?.[0];
  if (name === 'auto') {
    return { encoding: marked ?? utf16WithoutMark(sample) ?? 'utf8', bom: marked !== undefined };
  }
  if (name === 'utf16') {
    const bom = marked === 'utf16le' || marked === 'utf16be';
    return { encoding: bom ? marked : (utf16WithoutMark(sample) ?? 'utf16le'), bom };
  }
  if (NOT_TEXT.has(name) || !iconv.encodingExists(name)) {
    throw new ConfigError(
      'CONFIG_ENCODING',
      `source.encoding: ${JSON.stringify(fixed)} is not a known encoding`,
      {
        hint: 'use auto, or a name such as utf8, utf16le, latin1 or windows-1252',
        facts: { encoding: fixed },
      },
    );
  }
  return { encoding: name === 'utf8' ? name : fixed.toLowerCase(), bom: marked === name };
}

/** Whether a text begins with the byte order mark of UTF-8, read in an encoding that is not Unicode, such as `ï»¿`. */
export function beginsWithMisreadMark(text: string, encoding: string): boolean {
  return !/^(?:utf|ucs)/.test(encoding) && text.startsWith(iconv.decode(Buffer.from(UTF8_BOM), encoding));
}

/** UTF-32 is listed before UTF-16: its little-endian mark begins with that of UTF-16. */
const MARKS: readonly (readonly [encoding: string, mark: Buffer])[] = [
  ['utf8', Buffer.from(UTF8_BOM)],
  ['utf32le', Buffer.from([0xff, 0xfe, 0, 0])],
  ['utf32be', Buffer.from([0, 0, 0xfe, 0xff])],
  ['utf16le', Buffer.from([0xff, 0xfe])],
  ['utf16be', Buffer.from([0xfe, 0xff])],
];

/** iconv-lite knows these names too, but they are not text encodings. */
const NOT_TEXT = new Set(['base64', 'hex']);

/** UTF-16 without a mark: text that is mostly ASCII has NUL in most first or most second bytes, and in no others. */
function utf16WithoutMark(sample: Uint8Array): 'utf16le' | 'utf16be' | undefined {
  const pairs = Math.min(sample.length >> 1, 2048);
  if (!sample.subarray(0, 2 * pairs).includes(NUL)) return undefined;
  let even = 0;
  let odd = 0;
  for (let pair = 0; pair < pairs; pair++) {
    if (sample[pair * 2] === NUL) even++;
    if (sample[pair * 2 + 1] === NUL) odd++;
  }
  if (odd > pairs / 2 && even === 0) return 'utf16le';
  if (even > pairs / 2 && odd === 0) return 'utf16be';
  return undefined;
}
