/** Strict base64 (RFC 4648, section 4), decoded piece by piece. Nothing but the alphabet and a right end passes. */
import { MalformedReplyError } from './malformed-reply-error.js';

const QUANTUM = 4;

/** Takes text cut anywhere and gives the bytes that are complete so far. */
export class Base64Decoder {
  /** The last one to four characters: only the end of the whole text may be padded. */
  #carry = '';

  /**
   * @param text the next piece, one character a byte.
   * @throws MalformedReplyError at a character outside the alphabet, padding in the middle included.
   */
  decode(text: string): Buffer {
    const length = this.#carry.length + text.length;
    if (length <= QUANTUM) {
      this.#carry += text;
      return Buffer.alloc(0);
    }
    // The text itself is never joined to the carry: that would copy all of it.
    const begin = (QUANTUM - this.#carry.length) % QUANTUM;
    const end = text.length - (((length - 1) % QUANTUM) + 1);
    const head = this.#carry + text.slice(0, begin);
    const bytes = Buffer.allocUnsafeSlow(((head.length + end - begin) / QUANTUM) * 3);
    const written = decodeQuanta(head, bytes, 0);
    decodeQuanta(text.slice(begin, end), bytes, written);
    this.#carry = text.slice(end);
    return bytes;
  }

  /**
   * The bytes of the last four characters.
   * @throws MalformedReplyError when the text is cut, wrongly padded or has bits beyond its last byte.
   */
  end(): Buffer {
    const bytes = Buffer.from(this.#carry, 'base64');
    if (bytes.toString('base64') !== this.#carry) {
      throw new MalformedReplyError('the base64 text does not end as it must');
    }
    return bytes;
  }
}

/** Node's decoder skips what it does not know and takes the URL alphabet too, so both are looked for. */
function decodeQuanta(text: string, into: Buffer, at: number): number {
  const size = (text.length / QUANTUM) * 3;
  const written = into.write(text, at, size, 'base64');
  if (written !== size || text.includes('=') || text.includes('-') || text.includes('_')) {
    throw new MalformedReplyError('the base64 text holds characters outside its alphabet');
  }
  return written;
}
