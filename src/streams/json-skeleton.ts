/**
 * Collects a JSON document without the text of one string, which may be huge. Quotes, brackets and keys suffice to find
 * this string. At the end `JSON.parse` checks the document. This is correct because replacing a valid string by an empty
 * one does not change whether a document is valid.
 */
import { MalformedReplyError } from './malformed-reply-error.js';

export interface JsonSkeletonOptions {
  /** Keys of nested objects that lead to the string. */
  readonly path: readonly string[];
  /** Largest size of everything except the string's text. */
  readonly maxOtherBytes: number;
}

const MAX_DEPTH = 64;
const FIRST_SIZE = 1024;
/** Entries of the stack for an array, and for an object that is not on the path. */
const ARRAY = -2;
const ELSEWHERE = -1;
const BACKSLASH = 0x5c;

export class JsonSkeleton {
  readonly #options: JsonSkeletonOptions;
  #bytes = Buffer.allocUnsafe(FIRST_SIZE);
  #length = 0;
  /** For each open bracket: how many keys of the path lead to it, `ARRAY` or `ELSEWHERE`. */
  readonly #stack: number[] = [];
  #inString = false;
  #escaped = false;
  /** Where the current string begins if it is a key, otherwise -1. */
  #keyStart = -1;
  #expectsKey = false;
  /** Whether the last key is the next one of the path, and its value has not begun. */
  #onPath = false;
  #found = false;

  constructor(options: JsonSkeletonOptions) {
    this.#options = options;
  }

  /**
   * Reads on from `start`. If the string is `found`, stops after its opening quote, and the next call must start after
   * the string's text. Otherwise stops at `bytes.length`.
   * @throws MalformedReplyError when the string occurs twice or a limit is exceeded.
   */
  read(bytes: Buffer, start: number): { readonly stoppedAt: number; readonly found: boolean } {
    for (let at = start; at < bytes.length; at += 1) {
      const byte = bytes[at]!;
      this.#keep(byte);
      if (this.#inString) {
        this.#readInString(byte);
      } else if (this.#readBetween(byte)) {
        return { stoppedAt: at + 1, found: true };
      }
    }
    return { stoppedAt: bytes.length, found: false };
  }

  /** Must be called after the closing quote of the string was read. */
  close(): void {
    this.#keep(0x22);
  }

  /** @throws MalformedReplyError when the document is not JSON or has no string at the path. */
  end(): void {
    const document = parse(this.#bytes.subarray(0, this.#length));
    const value = this.#options.path.reduce(memberOf, document);
    if (!this.#found || value !== '') {
      throw new MalformedReplyError(`the reply has no string at ${this.#options.path.join('.')}`);
    }
  }

  #readInString(byte: number): void {
    if (this.#escaped) {
      this.#escaped = false;
    } else if (byte === 0x5c) {
      this.#escaped = true;
    } else if (byte === 0x22) {
      this.#inString = false;
      if (this.#keyStart !== -1) {
        this.#onPath = this.#isKeyOfPath();
        this.#keyStart = -1;
      }
    }
  }

  /** Reads a byte outside of strings; true if it opens the string at the path. */
  #readBetween(byte: number): boolean {
    switch (byte) {
      case 0x22: // "
        return this.#openString();
      case 0x7b: // {
        this.#push(this.#depthOnPath());
        this.#expectsKey = true;
        break;
      case 0x5b: // [
        this.#push(ARRAY);
        this.#expectsKey = false;
        break;
      case 0x7d: // }
      case 0x5d: // ]
        this.#stack.pop();
        this.#onPath = false;
        this.#expectsKey = false;
        break;
      case 0x2c: // ,
        this.#onPath = false;
        this.#expectsKey = (this.#stack.at(-1) ?? ARRAY) !== ARRAY;
        break;
      case 0x3a: // :
        this.#expectsKey = false;
        break;
    }
    return false;
  }

  #openString(): boolean {
    if (this.#onPath && !this.#expectsKey && this.#depthOnPath() === this.#options.path.length) {
      if (this.#found) {
        throw new MalformedReplyError(`the reply has ${this.#options.path.join('.')} twice`);
      }
      this.#found = true;
      this.#onPath = false;
      return true;
    }
    this.#inString = true;
    this.#onPath = false;
    this.#keyStart = this.#expectsKey ? this.#length - 1 : -1;
    return false;
  }

  /** How many keys of the path lead to the value that begins here, or `ELSEWHERE`. */
  #depthOnPath(): number {
    const top = this.#stack.at(-1);
    if (top === undefined) return 0;
    return this.#onPath ? top + 1 : ELSEWHERE;
  }

  #push(entry: number): void {
    if (this.#stack.length === MAX_DEPTH) {
      throw new MalformedReplyError(`the reply is nested deeper than ${MAX_DEPTH} levels`);
    }
    this.#stack.push(entry);
    this.#onPath = false;
  }

  #isKeyOfPath(): boolean {
    const depth = this.#stack.at(-1) ?? ARRAY;
    if (depth < 0) return false;
    const key = this.#bytes.subarray(this.#keyStart, this.#length);
    // A key that is written in another way has an escape.
    if (key.includes(BACKSLASH)) return parse(key) === this.#options.path[depth];
    return key.toString() === `"${this.#options.path[depth]}"`;
  }

  #keep(byte: number): void {
    if (this.#length === this.#options.maxOtherBytes) {
      throw new MalformedReplyError(
        `the reply has more than ${this.#length} bytes beside ${this.#options.path.join('.')}`,
      );
    }
    if (this.#length === this.#bytes.length) {
      this.#bytes = Buffer.concat([this.#bytes], this.#length * 2);
    }
    this.#bytes[this.#length++] = byte;
  }
}

function memberOf(value: unknown, key: string): unknown {
  const isObject = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
  return isObject ? (value as Record<string, unknown>)[key] : undefined;
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    throw new MalformedReplyError('the reply is not JSON, or is cut');
  }
}
