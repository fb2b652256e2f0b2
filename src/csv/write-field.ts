/** Fields as bytes: from a source's raw ones to a comma CSV's, and to text. */
import type { ByteWriter } from './byte-writer.js';
import { COMMA, QUOTE } from './bytes.js';

/**
 * Appends a raw field of a source in `delimiter` as a field of a comma CSV with LF: of a comma source the
 * bytes as they stand, of any other the value, quoted where needed. An unquoted field that holds a CR is
 * quoted in either case: at a record's end it could not be told from a line end.
 *
 * @param delimiter the source's, a byte.
 */
export function writeField(
  out: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
  delimiter: number,
): void {
  const isQuoted = bytes[start] === QUOTE && end > start;
  if (isQuoted && delimiter === COMMA) {
    out.copy(bytes, start, end);
  } else if (isQuoted) {
    if (!out.copyPlain(bytes, start + 1, end - 1)) out.copy(bytes, start, end);
  } else if (!out.copyPlain(bytes, start, end)) {
    // Unquoted, it holds no quote that would have to be doubled.
    out.byte(QUOTE);
    out.copy(bytes, start, end);
    out.byte(QUOTE);
  }
}

/** Appends a text value, quoted where needed. */
export function writeValue(out: ByteWriter, value: string): void {
  if (!/[",\r\n]/.test(value)) {
    out.utf8(value);
    return;
  }
  out.byte(QUOTE);
  out.utf8(value.replaceAll('"', '""'));
  out.byte(QUOTE);
}

/** Appends the value of a raw field: quotes taken off, doubled quotes made single. */
export function writeRawValue(out: ByteWriter, bytes: Uint8Array, start: number, end: number): void {
  if (bytes[start] !== QUOTE || end === start) {
    out.copy(bytes, start, end);
    return;
  }
  let from = start + 1;
  for (let i = from; i < end - 1; i++) {
    if (bytes[i] !== QUOTE) continue;
    // A quote within the quotes is the first of two: write it, and step over the second.
    out.copy(bytes, from, i + 1);
    from = i + 2;
    i++;
  }
  out.copy(bytes, from, end - 1);
}

/** The value of a raw field as text: quotes taken off, doubled quotes made single. */
export function fieldText(bytes: Uint8Array, start: number, end: number): string {
  const isQuoted = bytes[start] === QUOTE && end > start;
  const from = isQuoted ? start + 1 : start;
  const size = (isQuoted ? end - 1 : end) - from;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, size).toString('utf8');
  return isQuoted && text.includes('""') ? text.replaceAll('""', '"') : text;
}
