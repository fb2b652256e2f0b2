/**
 * The text of one JSON string that is strict base64 (RFC 4648, section 4), decoded as its bytes arrive; in
 * WebAssembly. All texts share one instance: no call leaves anything in its memory for the next.
 */
import { SPARE_BYTES, sharedMemory } from '../kernel/kernel-memory.js';
import { MalformedReplyError } from './malformed-reply-error.js';

/** What assembly/base64.ts exports. */
interface Base64Exports {
  readonly memory: WebAssembly.Memory;
  readonly textEnd: WebAssembly.Global;
  readonly decodedEnd: WebAssembly.Global;
  decodeBase64(from: number, to: number, out: number): number;
}

const CLOSED = 2;
/** What is wrong with the text, by what the kernel has found. */
const TROUBLES: readonly (string | undefined)[] = [
  undefined,
  undefined,
  undefined,
  'holds characters outside its alphabet',
  'does not end as it must',
  'holds an escape that stands for no character of it',
];

/** Most bytes of the text that one call takes: they and the decoded ones fit into the processor's cache. */
const TEXT_BYTES = 64 * 1024;
/** Four characters that are cut, each written as an escape of six bytes. */
const CUT_BYTES = 24;
/**
 * In the middle of a page of the memory: buffers tend to begin with one, and some processors copy between places
 * that lie almost alike in their pages twenty times slower.
 */
const TEXT_AT = 2048;
const DECODED_AT = TEXT_AT + TEXT_BYTES + 4096;

/** Most bytes that one call gives. */
export const DECODED_BYTES = ((CUT_BYTES + TEXT_BYTES) / 4) * 3;

const kernelMemory = sharedMemory<Base64Exports>(DECODED_AT + DECODED_BYTES + SPARE_BYTES);

/** Starts behind the opening quote. */
export class Base64Text {
  /** Whether the closing quote was read. */
  closed = false;
  /** Where the last `decode` stopped: behind the closing quote, or before bytes that another call must take. */
  stoppedAt = 0;
  /** The beginning of four characters whose end has not arrived. */
  readonly #cut = Buffer.allocUnsafe(CUT_BYTES);
  #cutBytes = 0;

  /**
   * Decodes from `start` on, and writes what is complete into `into`, which has room for `DECODED_BYTES` at `at`.
   * @returns how many bytes were written.
   * @throws MalformedReplyError at a character outside the alphabet, a wrong end or an escape that cannot be.
   */
  decode(bytes: Buffer, start: number, into: Buffer, at: number): number {
    const { bytes: memory, exports } = kernelMemory();
    const from = TEXT_AT - this.#cutBytes;
    this.#cut.copy(memory, from, 0, this.#cutBytes);
    const to = TEXT_AT + bytes.copy(memory, TEXT_AT, start, Math.min(start + TEXT_BYTES, bytes.length));
    const found = exports.decodeBase64(from, to, DECODED_AT);
    const trouble = TROUBLES[found];
    if (trouble !== undefined) throw new MalformedReplyError(`the base64 text ${trouble}`);
    this.closed = found === CLOSED;
    const textEnd = exports.textEnd.value;
    this.#cutBytes = this.closed ? 0 : memory.copy(this.#cut, 0, textEnd, to);
    this.stoppedAt = start + textEnd + this.#cutBytes - TEXT_AT;
    return memory.copy(into, at, DECODED_AT, exports.decodedEnd.value);
  }
}
