/** Writes objects as CSV with commas, quotes and line feeds. A wrong object is named before anything is paid. */
import { types } from 'node:util';
import { FoliopipeError, SourceError } from '../errors.js';
import { countOf } from '../quantities.js';
import { showText, thrownText } from '../text.js';

/** The next object, or its promise. */
export type NextObject = () => IteratorResult<unknown> | Promise<IteratorResult<unknown>>;

/** Length of a piece of text, in UTF-16 units. */
const PIECE = 128 * 1024;

/**
 * @param next gives the objects; each has the same keys, in any order.
 * @param declared the columns of a CSV without a header. Without them, the keys of the first object are the header.
 * @throws SourceError `SOURCE_RECORD_KEYS`, `SOURCE_RECORD_VALUE` with record and key.
 */
export async function* writeObjects(
  next: NextObject,
  declared: readonly string[] | undefined,
): AsyncGenerator<Buffer> {
  let columns = declared;
  let checked: unknown = Object.prototype;
  let text = '';
  let firstInText = 1;
  for (let record = 1; ; record++) {
    const asked = next();
    const given = types.isPromise(asked) ? await asked : (asked as IteratorResult<unknown>);
    if (given.done) break;
    try {
      const object = checkObject(given.value, record);
      // Records of one class have one prototype.
      const prototype = Object.getPrototypeOf(object);
      if (prototype !== checked) checkPrototype(prototype, object, record);
      checked = prototype;
      if (columns === undefined) {
        columns = headerOf(object);
        text = `${columns.map((name) => quoted(name, true)).join(',')}\n`;
      }
      text += rowOf(object, columns, record);
    } catch (error) {
      throw error instanceof FoliopipeError ? error : unreadable(record, error);
    }
    if (text.length < PIECE) continue;
    yield encode(text, firstInText, record);
    text = '';
    firstInText = record + 1;
  }
  if (text !== '') yield encode(text, firstInText, undefined);
}

function checkObject(value: unknown, record: number): Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  if (isObject && !types.isDate(value) && !ArrayBuffer.isView(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw new SourceError(
    'SOURCE_RECORD_VALUE',
    `record ${record} of the records that were passed in is ${nameOf(value)}${record === 1 ? '' : ', and record 1 was an object'}`,
    { hint: 'give an object for each record, with the same keys; nothing was sent', facts: { record } },
  );
}

/** Accessors of a class are no keys: their columns would be lost silently. */
function checkPrototype(prototype: unknown, object: object, record: number): void {
  for (let link = prototype; link !== null; link = Object.getPrototypeOf(link)) {
    for (const [key, { get }] of Object.entries(Object.getOwnPropertyDescriptors(link))) {
      if (get === undefined || key === '__proto__' || Object.hasOwn(object, key)) continue;
      throw new SourceError(
        'SOURCE_RECORD_KEYS',
        `record ${record} of the records that were passed in has ${showText(key)} as an accessor of its class, which is no key of its own`,
        {
          hint: 'give plain objects that hold each column, such as ({ id: row.id, name: row.name }); nothing was sent',
          facts: { record, key },
        },
      );
    }
  }
}

/** A getter or a proxy has thrown. */
function unreadable(record: number, cause: unknown): SourceError {
  return new SourceError(
    'SOURCE_RECORD_VALUE',
    `record ${record} of the records that were passed in cannot be read: ${showText(thrownText(cause), 200)}`,
    { hint: 'correct its getters, or give plain objects; nothing was sent', facts: { record }, cause },
  );
}

function headerOf(object: Readonly<Record<string, unknown>>): readonly string[] {
  const columns = Object.keys(object);
  if (columns.length > 0) return columns;
  throw new SourceError('SOURCE_RECORD_KEYS', 'record 1 of the records that were passed in has no keys', {
    hint: 'give an object for each record whose keys are the columns; nothing was sent',
    facts: { record: 1 },
  });
}

function rowOf(
  object: Readonly<Record<string, unknown>>,
  columns: readonly string[],
  record: number,
): string {
  const keys = Object.keys(object);
  let isSame = keys.length === columns.length;
  for (let i = 0; isSame && i < keys.length; i++) isSame = keys[i] === columns[i];
  if (!isSame) checkKeys(keys, columns, record);
  let row = '';
  for (let i = 0; i < columns.length; i++) {
    const value = object[columns[i]!];
    const text = typeof value === 'string' ? value : textOf(value, record, columns[i]!);
    row += i === 0 ? quoted(text, false) : `,${quoted(text, false)}`;
  }
  // An empty line would be no record.
  return row === '' ? '""\n' : `${row}\n`;
}

/** Keys in another order are fine. */
function checkKeys(keys: readonly string[], columns: readonly string[], record: number): void {
  const unknown = keys.find((key) => !columns.includes(key));
  const missing = columns.find((column) => !keys.includes(column));
  const key = unknown ?? missing;
  if (key === undefined) return;
  const what = unknown === undefined ? 'lacks the key' : 'has the unknown key';
  throw new SourceError(
    'SOURCE_RECORD_KEYS',
    `record ${record} of the records that were passed in ${what} ${showText(key)}; the columns are ${columns.map((column) => showText(column)).join(', ')}`,
    {
      hint: 'give each record the same keys, with null or undefined for what is empty; or list the columns in source.header; nothing was sent',
      facts: { record, key },
    },
  );
}

function textOf(value: unknown, record: number, key: string): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'bigint' || typeof value === 'boolean' || Number.isFinite(value)) return String(value);
  if (types.isDate(value) && !Number.isNaN(value.getTime())) return value.toISOString();
  throw valueError(record, key, nameOf(value));
}

function valueError(record: number, key: string, what: string): SourceError {
  return new SourceError(
    'SOURCE_RECORD_VALUE',
    `record ${record} of the records that were passed in: ${showText(key)} is ${what}`,
    {
      hint: 'a value is a text, a finite number, a bigint, a boolean, a Date, null or undefined; nothing was sent',
      facts: { record, key },
    },
  );
}

function nameOf(value: unknown): string {
  if (typeof value === 'number') return String(value);
  if (types.isDate(value)) return Number.isNaN(value.getTime()) ? 'an invalid date' : 'a date';
  if (Array.isArray(value)) return 'a list';
  if (ArrayBuffer.isView(value)) return 'bytes';
  if (value === null || value === undefined) return String(value);
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** At the beginning of the text U+FEFF would be its byte order mark. @param isName an empty name is quoted. */
function quoted(text: string, isName: boolean): string {
  if (!/[",\r\n\ufeff]/.test(text) && !(isName && text === '')) return text;
  return `"${text.replaceAll('"', '""')}"`;
}

/** @throws SourceError for half of a surrogate pair, which UTF-8 cannot hold. */
function encode(text: string, first: number, last: number | undefined): Buffer {
  if (text.isWellFormed()) return Buffer.from(text);
  const where =
    last === undefined ? `one of the records from ${first} on` : `one of the records ${first} to ${last}`;
  throw new SourceError(
    'SOURCE_RECORD_VALUE',
    `${where} that were passed in holds half of a surrogate pair, which no UTF-8 text can hold`,
    {
      hint: 'a text was cut in the middle of a character; String.prototype.toWellFormed repairs it; nothing was sent',
      facts: { record: first, records: countOf((last ?? first) - first + 1, 'record') },
    },
  );
}
