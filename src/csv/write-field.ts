/** Writes raw CSV fields and text values as fields of a comma CSV. */
import type { ByteWriter } from './byte-writer.js';
import { COMMA, QUOTE } from './bytes.js';

/**
 * Appends a raw field of a source as a field of a comma CSV with LF. Copies a quoted field of a comma source unchanged.
 * Otherwise writes the value, with quotes if it needs them. An unquoted field that holds a CR gets quotes, because a CR
 * at a record's end would be read as a line end.
 *
 * @param delimiter the source's delimiter, a byte.
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
    // An unquoted field holds no quote that would have to be doubled.
    out.byte(QUOTE);
    out.copy(bytes, start, end);
    out.byte(QUOTE);
  }
}

/** Appends a text value, with quotes if it needs them. */
export function writeValue(out: ByteWriter, value: string): void {
  if (!/[",\r\n]/.test(value)) {
    out.utf8(value);
    return;
  }
  out.byte(QUOTE);
  out.utf8(value.replaceAll('"', '""'));
  out.byte(QUOTE);
}
