/** The text of one JSON string as its bytes arrive: finds its end and resolves escapes (RFC 8259, section 7). */
import { MalformedReplyError } from './malformed-reply-error.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Starts behind the opening quote. Made for base64: each byte is one character, and so must each escape be. */
export class JsonStringText {
  /** Whether the closing quote was read. */
  closed = false;
  /** Where the last `read` stopped: behind the closing quote, or at the end of its bytes. */
  stoppedAt = 0;
  /** An escape whose end has not arrived, with its backslash. */
  #escape = '';

  /** The characters from `start` to the closing quote or to the end of the bytes. */
  read(bytes: Buffer, start: number): string {
    if (this.#escape !== '') {
      return this.#readEscaped(bytes, start);
    }
    const quote = bytes.indexOf(QUOTE, start);
    const end = quote === -1 ? bytes.length : quote;
    // Many servers escape each slash, once in 64 characters; any other escape is too rare to be fast at.
    const text = bytes.toString('latin1', start, end).replaceAll('\\/', '/');
    if (text.includes('\\')) {
      return this.#readEscaped(bytes, start);
    }
    this.closed = quote !== -1;
    this.stoppedAt = this.closed ? quote + 1 : end;
    return text;
  }

  #readEscaped(bytes: Buffer, start: number): string {
    const text = Buffer.allocUnsafe(bytes.length - start);
    let length = 0;
    let at = start;
    for (; at < bytes.length && !this.closed; at += 1) {
      const byte = bytes[at]!;
      if (this.#escape !== '') {
        this.#escape += String.fromCharCode(byte);
        const character = resolveEscape(this.#escape);
        if (character !== undefined) {
          text[length++] = character;
          this.#escape = '';
        }
      } else if (byte === BACKSLASH) {
        this.#escape = '\\';
      } else if (byte === QUOTE) {
        this.closed = true;
      } else {
        text[length++] = byte;
      }
    }
    this.stoppedAt = at;
    return text.toString('latin1', 0, length);
  }
}

/** The character's code, or undefined while the escape is not complete. */
function resolveEscape(sequence: string): number | undefined {
  if (sequence === '\\/') {
    return 0x2f;
  }
  if (!/^\\u[0-9a-fA-F]{0,4}$/.test(sequence)) {
    throw new MalformedReplyError('the base64 text holds an escape that stands for no character of it');
  }
  if (sequence.length < 6) {
    return undefined;
  }
  const code = Number.parseInt(sequence.slice(2), 16);
  if (code > 0x7f) {
    throw new MalformedReplyError('the base64 text holds an escape that stands for no character of it');
  }
  return code;
}
