/**
 * Recognizes text in which backslashes stand for what CSV writes with quotes, as Snowflake unloads a table by default:
 * `\,` within a field, a backslash before a line end, `\N` for NULL. Read as CSV, such a file has wrong fields.
 */
import { CR, LF, QUOTE } from './bytes.js';

/** `delimiters`: records whose fields are right only if backslashes are escapes. `nulls`: fields that are `\N`. */
type Escapes = 'delimiters' | 'nulls';

const BACKSLASH = 0x5c;
const CAPITAL_N = 0x4e;

/**
 * Looks for backslashes that have a meaning in the first text of a file. A file is recognized by
 *
 * - two records that have as many fields as the first one only if backslashes are read, or one beside a field that is
 *   `\N`;
 * - two records with a field that is `\N`; one in a file of two records at most.
 *
 * Never if the file is quoted: if quotes enclose a field that needs them, or some field in half of all records.
 *
 * @param text decoded. A last line without an end is left out unless the text is whole.
 * @param delimiter a byte.
 */
export function findEscapes(text: Uint8Array, delimiter: number, isWhole: boolean): Escapes | undefined {
  let [records, fields, nulls, escaped, enclosed] = [0, 0, 0, 0, 0];
  for (let start = 0; start < text.length; ) {
    const record = readEscaped(text, start, delimiter);
    if (record.end === text.length && !isWhole) break;
    if (record.end > start && !(record.end === start + 1 && text[start] === CR)) {
      const quoted = readQuoted(text, start, delimiter);
      if (quoted.needsQuotes) return undefined;
      records++;
      if (records === 1) fields = record.fields;
      if (record.hasNull) nulls++;
      if (quoted.isEnclosed) enclosed++;
      const isWrong = record.hasLineEnd || (record.hasDelimiter && quoted.fields !== fields);
      if (isWrong && fields > 1 && record.fields === fields) escaped++;
    }
    start = record.end + 1;
  }
  if (enclosed * 2 >= records) return undefined;
  if (escaped >= 2 || (escaped === 1 && nulls > 0)) return 'delimiters';
  return nulls >= 2 || (nulls === 1 && records <= 2 && isWhole) ? 'nulls' : undefined;
}

/** A record, read with backslashes as escapes of the bytes after them. */
interface EscapedRecord {
  readonly fields: number;
  /** The offset of its line feed, or of the end of the text. */
  readonly end: number;
  readonly hasNull: boolean;
  /** Whether a backslash comes before a delimiter, or before a line end. */
  readonly hasDelimiter: boolean;
  readonly hasLineEnd: boolean;
}

function readEscaped(text: Uint8Array, start: number, delimiter: number): EscapedRecord {
  const found = { fields: 1, end: start, hasNull: false, hasDelimiter: false, hasLineEnd: false };
  let fieldStart = start;
  let i = start;
  for (; ; i++) {
    const byte = text[i];
    if (byte === BACKSLASH) {
      const next = text[i + 1] === CR && text[i + 2] === LF ? i + 2 : i + 1;
      if (text[next] === delimiter) found.hasDelimiter = true;
      if (text[next] === LF) found.hasLineEnd = true;
      i = next;
      continue;
    }
    const isEnd = i >= text.length || byte === LF;
    if (!isEnd && byte !== delimiter) continue;
    const end = byte === LF && text[i - 1] === CR ? i - 1 : i;
    if (end === fieldStart + 2 && text[fieldStart] === BACKSLASH && text[fieldStart + 1] === CAPITAL_N) {
      found.hasNull = true;
    }
    if (isEnd) break;
    found.fields++;
    fieldStart = i + 1;
  }
  return { ...found, end: Math.min(i, text.length) };
}

/** A line, read as CSV: backslashes are text, and the last field ends at the first line feed. */
interface QuotedLine {
  readonly fields: number;
  /** Whether quotes enclose a field. */
  readonly isEnclosed: boolean;
  /** Whether they enclose a delimiter or a quote. */
  readonly needsQuotes: boolean;
}

function readQuoted(text: Uint8Array, start: number, delimiter: number): QuotedLine {
  const found = { fields: 1, isEnclosed: false, needsQuotes: false };
  let isFieldStart = true;
  for (let i = start; i < text.length && text[i] !== LF; i++) {
    if (text[i] === QUOTE && isFieldStart) {
      const { end, isNeeded } = enclosedField(text, i, delimiter);
      if (end > i) {
        found.isEnclosed = true;
        if (isNeeded) found.needsQuotes = true;
        i = end;
      }
    }
    isFieldStart = text[i] === delimiter;
    if (isFieldStart) found.fields++;
  }
  return found;
}

/** The offset of the quote that closes a field on its line; `open` if none does. */
function enclosedField(
  text: Uint8Array,
  open: number,
  delimiter: number,
): { end: number; isNeeded: boolean } {
  let isNeeded = false;
  for (let i = open + 1; i < text.length && text[i] !== LF; i++) {
    const isEscaped = text[i - 1] === BACKSLASH;
    if (text[i] === delimiter && !isEscaped) isNeeded = true;
    if (text[i] !== QUOTE) continue;
    const next = text[i + 1];
    if (next === QUOTE) {
      isNeeded = true;
      i++;
    } else if (next === undefined || next === delimiter || next === LF || next === CR) {
      return { end: i, isNeeded };
    } else break;
  }
  return { end: open, isNeeded: false };
}
