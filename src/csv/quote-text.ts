/**
 * Turns a text in which quotes are text (`source.quote: none`) into CSV of the same values: each field that holds a
 * quote is quoted. So every reader of records needs only one grammar. Invariant: the result never depends on how the text
 * is cut into pieces, so that an offset in it always means the same place.
 */
import { ByteWriter } from './byte-writer.js';
import { CR, contentEnd, LF, QUOTE } from './bytes.js';

/**
 * A longer field is always quoted, because its beginning is written before its end is known. Memory holds at most this
 * much of a field, and one slice of the text, which must be smaller.
 */
const LONG_FIELD = 1024 * 1024;
const SLICE_BYTES = 512 * 1024;

/** All bytes that it gives are valid only until the next ones are asked for. */
export class TextQuoter {
  readonly #delimiter: number;
  /** The bytes of a field whose end has not arrived; of a long field, only a CR that may belong to the line end. */
  readonly #held = new ByteWriter(1024);
  readonly #out = new ByteWriter(64 * 1024);
  /** Whether the beginning of a long field has been given, with its opening quote. */
  #isOpen = false;

  /** @param delimiter a byte. */
  constructor(delimiter: number) {
    this.#delimiter = delimiter;
  }

  /** Takes the next bytes of the text; gives what is certain. */
  *take(piece: Buffer): Generator<Buffer, void, undefined> {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      yield* this.#takeSlice(piece.subarray(at, at + SLICE_BYTES));
    }
  }

  /** Ends the text: gives what is left. */
  *end(): Generator<Buffer, void, undefined> {
    this.#endHeld(false);
    yield* this.#given();
  }

  *#takeSlice(slice: Buffer): Generator<Buffer, void, undefined> {
    let at = 0;
    if (this.#isOpen || this.#held.length > 0) {
      at = this.#fieldEnd(slice, 0);
      this.#held.copy(slice, 0, at);
      if (at === slice.length) {
        this.#giveLong();
        yield* this.#given();
        return;
      }
      this.#endHeld(slice[at] === LF);
      yield* this.#given();
    }
    const last = Math.max(at, slice.lastIndexOf(this.#delimiter) + 1, slice.lastIndexOf(LF) + 1);
    yield* this.#whole(slice.subarray(at, last));
    this.#held.copy(slice, last, slice.length);
  }

  /** Gives complete fields, each with the delimiter or line end after it. Does not copy text without quotes. */
  *#whole(fields: Buffer): Generator<Buffer, void, undefined> {
    let at = 0;
    for (let quote = fields.indexOf(QUOTE); quote !== -1; quote = fields.indexOf(QUOTE, at)) {
      let start = quote;
      while (start > at && !this.#endsField(fields[start - 1]!)) start--;
      const mark = this.#fieldEnd(fields, quote);
      const end = fields[mark] === LF ? contentEnd(fields, mark) : mark;
      this.#out.copy(fields, at, start);
      this.#writeQuoted(fields, start, end);
      at = end;
    }
    if (at === 0) {
      if (fields.length > 0) yield fields;
      return;
    }
    this.#out.copy(fields, at, fields.length);
    yield* this.#given();
  }

  /** Ends the field whose beginning is held. @param isLine whether a line feed ends it. */
  #endHeld(isLine: boolean): void {
    const held = this.#held.view();
    const end = isLine ? contentEnd(held, held.length) : held.length;
    if (this.#isOpen) {
      this.#writeDoubled(held, 0, end);
      this.#out.byte(QUOTE);
    } else if (end > LONG_FIELD || held.includes(QUOTE)) this.#writeQuoted(held, 0, end);
    else this.#out.copy(held, 0, end);
    this.#out.copy(held, end, held.length);
    this.#held.clear();
    this.#isOpen = false;
  }

  /** Gives the held bytes once the field is certainly long, even if a CR at their end does not belong to it. */
  #giveLong(): void {
    const held = this.#held.view();
    if (!this.#isOpen) {
      if (held.length <= LONG_FIELD + 1) return;
      this.#out.byte(QUOTE);
      this.#isOpen = true;
    }
    const end = contentEnd(held, held.length);
    this.#writeDoubled(held, 0, end);
    this.#held.clear();
    if (end < held.length) this.#held.byte(CR);
  }

  #writeQuoted(bytes: Uint8Array, start: number, end: number): void {
    this.#out.byte(QUOTE);
    this.#writeDoubled(bytes, start, end);
    this.#out.byte(QUOTE);
  }

  #writeDoubled(bytes: Uint8Array, start: number, end: number): void {
    let from = start;
    for (let i = start; i < end; i++) {
      if (bytes[i] !== QUOTE) continue;
      this.#out.copy(bytes, from, i + 1);
      from = i;
    }
    this.#out.copy(bytes, from, end);
  }

  *#given(): Generator<Buffer, void, undefined> {
    if (this.#out.length === 0) return;
    yield this.#out.take();
  }

  /** The end of the field that continues at `from`: a delimiter, a line feed, or the end of the bytes. */
  #fieldEnd(bytes: Uint8Array, from: number): number {
    let i = from;
    while (i < bytes.length && !this.#endsField(bytes[i]!)) i++;
    return i;
  }

  #endsField(byte: number): boolean {
    return byte === this.#delimiter || byte === LF;
  }
}

/** Quotes a text in memory. */
export function quoteText(text: Buffer, delimiter: number): Buffer {
  const quoter = new TextQuoter(delimiter);
  const pieces: Buffer[] = [];
  for (const given of [quoter.take(text), quoter.end()]) {
    for (const piece of given) pieces.push(Buffer.from(piece));
  }
  return Buffer.concat(pieces);
}

/** Turns quoted bytes back into their text. They begin at a field and may be cut off anywhere. */
export function unquoteText(bytes: Uint8Array, delimiter: number): Buffer {
  const out = new ByteWriter(bytes.length);
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === QUOTE) {
      for (at++; at < bytes.length; at++) {
        if (bytes[at] === QUOTE && bytes[++at] !== QUOTE) break;
        out.byte(bytes[at]!);
      }
    }
    while (at < bytes.length && bytes[at] !== delimiter && bytes[at] !== LF) out.byte(bytes[at++]!);
    if (at < bytes.length) out.byte(bytes[at]!);
  }
  return out.take();
}
