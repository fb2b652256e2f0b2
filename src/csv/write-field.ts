/** Writes raw CSV fields and text values as fields of a comma CSV, and reads raw fields as text. */
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

/** Appends the value of a raw field: without its quotes, with doubled quotes made single. */
export function writeRawValue(out: ByteWriter, bytes: Uint8Array, start: number, end: number): void {
  if (bytes[start] !== QUOTE || end === start) {
    out.copy(bytes, start, end);
    return;
  }
  let from = start + 1;
  for (let i = from; i < end - 1; i++) {
    if (bytes[i] !== QUOTE) continue;
    // A quote within the quotes is the first of two. Writes it and skips the second.
    out.copy(bytes, from, i + 1);
    from = i + 2;
    i++;
  }
  out.copy(bytes, from, end - 1);
}

/** The value of a raw field as text: without its quotes, with doubled quotes made single. */
export function fieldText(bytes: Uint8Array, start: number, end: number): string {
  const isQuoted = bytes[start] === QUOTE && end > start;
  const from = isQuoted ? start + 1 : start;
  const size = (isQuoted ? end - 1 : end) - from;
  const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, size).toString('utf8');
  return isQuoted && text.includes('""') ? text.replaceAll('""', '"') : text;
}

/**
 * Groups the fields to write into runs of neighbours, because neighbours in a comma CSV can be copied at once.
 *
 * @param fields indexes of fields, in the order to write them; -1 for an empty field.
 * @param delimiter of the records, a byte.
 * @returns the first and the last field of each run, in the form that assembly/field.ts takes.
 */
export function fieldRuns(fields: readonly number[], delimiter: number): Int32Array<ArrayBuffer> {
  const runs: number[] = [];
  for (const field of fields) {
    const isNext = delimiter === COMMA && field > 0 && runs.at(-1) === field - 1;
    if (isNext) runs[runs.length - 1] = field;
    else runs.push(field, field);
  }
  return Int32Array.from(runs);
}
