/** Decodes one huge base64 string in a JSON reply as a stream. Memory holds one buffer, never the whole string. */
import { KernelMemory, SPARE_BYTES } from '../kernel/kernel-memory.js';
import { JsonSkeleton, type JsonSkeletonOptions } from './json-skeleton.js';
import { MalformedReplyError } from './malformed-reply-error.js';
import { strangeBase64 } from './strange-base64.js';

/**
 * Most parts fit into one piece. So a consumer that passes pieces to another thread does that only once for each part.
 */
const PIECE_BYTES = 1024 * 1024;
/** Free memories: at most as many as the replies that were ever read at the same time. */
const spare: KernelMemory<Base64Exports>[] = [];

/** Watches what is read. Its errors end the decoding. */
export interface Base64Watch {
  /** Called with each piece of the body before it is read. */
  onPiece?(piece: Uint8Array): void;
  /** Called with decoded bytes as soon as they arrive, before they are given in a piece. */
  onDecoded?(bytes: Buffer): void;
}

/**
 * Gives the decoded bytes of the string at `options.path` in pieces of about 1 MiB. Keys may come in any order, other
 * members have any shape, escapes are decoded, and the bytes may be cut anywhere. The string must be strict base64
 * without line breaks. An empty string gives nothing.
 *
 * Each piece is valid until the next one is requested. The pieces are known to be correct only when the generator ends
 * without an error.
 * @throws MalformedReplyError when the JSON is malformed or cut, when the string is missing, doubled or not base64, or
 *   when the rest is larger than `options.maxOtherBytes`.
 */
export async function* decodeBase64Json(
  body: AsyncIterable<Uint8Array>,
  options: JsonSkeletonOptions,
  { onPiece, onDecoded }: Base64Watch = {},
): AsyncGenerator<Buffer> {
  const skeleton = new JsonSkeleton(options);
  const memory = spare.pop() ?? createMemory();
  const decoded = memory.bytes.subarray(DECODED_AT, DECODED_AT + PIECE_BYTES);
  let length = 0;
  let text: Base64Text | undefined;
  try {
    for await (const piece of body) {
      onPiece?.(piece);
      const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
      for (let at = 0; at < bytes.length; ) {
        if (text === undefined) {
          const { stoppedAt, found } = skeleton.read(bytes, at);
          at = stoppedAt;
          text = found ? new Base64Text(memory) : undefined;
          continue;
        }
        if (length + DECODED_BYTES > PIECE_BYTES) {
          yield decoded.subarray(0, length);
          length = 0;
        }
        const count = text.decode(bytes, at, length);
        onDecoded?.(decoded.subarray(length, length + count));
        length += count;
        at = text.stoppedAt;
        if (text.closed) {
          skeleton.close();
          text = undefined;
        }
      }
    }
    skeleton.end();
    if (length > 0) yield decoded.subarray(0, length);
  } finally {
    spare.push(memory);
  }
}

/** What assembly/base64.ts exports. */
interface Base64Exports {
  readonly textEnd: WebAssembly.Global;
  readonly decodedEnd: WebAssembly.Global;
  decodeBase64(from: number, to: number, out: number): number;
}

const CLOSED = 2;
/** The error for each result of the kernel. */
const TROUBLES: readonly (string | undefined)[] = [
  undefined,
  undefined,
  undefined,
  'holds characters outside its alphabet',
  'does not end as it must',
  'holds an escape that stands for no character of it',
];

/** The most bytes of text in one call: with the decoded bytes they fit into the processor's cache. */
const TEXT_BYTES = 64 * 1024;
/** The characters of a group of four, each written as an escape of six bytes, and the beginning of one after them. */
const CUT_BYTES = 32;
/**
 * Address of the text, in the middle of a memory page. Buffers often begin at a page, and some processors copy twenty
 * times slower between addresses that have almost equal offsets in their pages.
 */
const TEXT_AT = 2048;
const DECODED_AT = TEXT_AT + TEXT_BYTES + 4096;

/** The most bytes that one call decodes. */
const DECODED_BYTES = ((CUT_BYTES + TEXT_BYTES) / 4) * 3;

function createMemory(): KernelMemory<Base64Exports> {
  const memory = new KernelMemory<Base64Exports>();
  memory.reserve(DECODED_AT + PIECE_BYTES + SPARE_BYTES);
  return memory;
}

/**
 * The text of one JSON string in strict base64 (RFC 4648, section 4), after its opening quote. Decodes it in WebAssembly
 * as its bytes arrive.
 */
class Base64Text {
  /** Whether the closing quote was read. */
  closed = false;
  /** Where the last `decode` stopped: after the closing quote, or before the bytes for the next call. */
  stoppedAt = 0;
  /** The beginning of a group of four characters whose end has not arrived. */
  readonly #cut = Buffer.allocUnsafe(CUT_BYTES);
  readonly #memory: KernelMemory<Base64Exports>;
  #cutBytes = 0;
  /** Bytes decoded so far. */
  #decoded = 0;

  constructor(memory: KernelMemory<Base64Exports>) {
    this.#memory = memory;
  }

  /**
   * Decodes from `start` on. Writes the complete groups after the first `at` decoded bytes, where there is room for
   * `DECODED_BYTES`.
   * @returns how many bytes were written.
   * @throws MalformedReplyError at a character outside the alphabet, a wrong end or an impossible escape.
   */
  decode(bytes: Buffer, start: number, at: number): number {
    const { bytes: memory, exports } = this.#memory;
    const from = TEXT_AT - this.#cutBytes;
    this.#cut.copy(memory, from, 0, this.#cutBytes);
    const to = TEXT_AT + bytes.copy(memory, TEXT_AT, start, Math.min(start + TEXT_BYTES, bytes.length));
    const found = exports.decodeBase64(from, to, DECODED_AT + at);
    const trouble = TROUBLES[found];
    const { textEnd, decodedEnd } = exports;
    const count = decodedEnd.value - DECODED_AT - at;
    this.#decoded += count;
    if (trouble !== undefined) {
      const strange = strangeBase64(memory.subarray(textEnd.value, to), (this.#decoded / 3) * 4);
      throw strange ?? new MalformedReplyError(`the base64 text ${trouble}`);
    }
    this.closed = found === CLOSED;
    this.#cutBytes = this.closed ? 0 : memory.copy(this.#cut, 0, textEnd.value, to);
    this.stoppedAt = start + textEnd.value + this.#cutBytes - TEXT_AT;
    return count;
  }
}
