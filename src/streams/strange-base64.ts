/**
 * Says why a text is not strict base64 (RFC 4648, section 4), so that a person can show it to the service provider.
 */
import { MalformedReplyError } from './malformed-reply-error.js';

/** Enough for the four characters that could not be decoded, each written as an escape, and what follows them. */
const LOOKED_AT = 48;

/**
 * The error for a text that holds a strange character among these bytes, or goes on after its padding.
 * @param bytes the JSON text from where it could not be decoded.
 * @param before how many characters of base64 come before these bytes.
 * @returns undefined if nothing strange is among them.
 */
export function strangeBase64(bytes: Uint8Array, before: number): MalformedReplyError | undefined {
  const text = Buffer.from(bytes.subarray(0, LOOKED_AT)).toString('latin1');
  let after = before;
  let isPadded = false;
  for (const [token] of text.matchAll(/\\u[0-9a-f]{4}|\\.|./gis)) {
    // An escape may be cut after its backslash.
    if (token === '"' || token === '\\') return undefined;
    const character = unescaped(token);
    if (!/[A-Za-z0-9+/=]/.test(character)) return strangeError(character, token, after);
    if (isPadded && character !== '=') return goesOnError(after);
    isPadded = character === '=';
    after += 1;
  }
  return undefined;
}

/** The character of an escape (RFC 8259, section 7); another escape stands for itself. */
function unescaped(token: string): string {
  if (token.length === 1) return token;
  try {
    return JSON.parse(`"${token}"`) as string;
  } catch {
    return token;
  }
}

/** Several texts, one after the other: a service that encodes piece by piece writes it so. */
function goesOnError(after: number): MalformedReplyError {
  const breach = 'the base64 text goes on after its padding';
  return new MalformedReplyError(`${breach}, at character ${after}: it must be one text`, breach);
}

/**
 * White space and the alphabet for URLs are other ways to write base64: fetching the part again gives the same text.
 */
function strangeError(character: string, token: string, after: number): MalformedReplyError {
  const place = `after ${after} ${after === 1 ? 'character' : 'characters'}`;
  const isLineEnd = character === '\n' || character === '\r';
  if (isLineEnd || /\s/.test(character)) {
    const breach = `the base64 text holds ${isLineEnd ? 'a line break' : 'white space'}`;
    const why = isLineEnd ? ': MIME writes it so (RFC 2045), and here it must be one unbroken text' : '';
    return new MalformedReplyError(`${breach} ${place}${why}`, breach);
  }
  const breach = `the base64 text holds ${JSON.stringify(token)}`;
  if (character === '-' || character === '_') {
    return new MalformedReplyError(`${breach} ${place}: that is the alphabet for URLs`, breach);
  }
  return new MalformedReplyError(`${breach} ${place}, which is outside its alphabet`);
}
