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
    const whole = this.#carry + text;
    if (whole.length <= QUANTUM) {
      this.#carry = whole;
      return Buffer.alloc(0);
    }
    const end = whole.length - (((whole.length - 1) % QUANTUM) + 1);
    this.#carry = whole.slice(end);
    return decodeQuanta(whole.slice(0, end));
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
function decodeQuanta(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== (text.length / QUANTUM) * 3 || text.includes('-') || text.includes('_')) {
    throw new MalformedReplyError('the base64 text holds characters outside its alphabet');
  }
  return bytes;
}
