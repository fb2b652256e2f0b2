/**
 * Records that a program hands in instead of naming a file: bytes of a CSV, or objects. They are copied into the spool,
 * once for each call of a job, because they can be read only once.
 */
import { types } from 'node:util';
import { SourceError } from '../errors.js';
import { abortable } from '../streams/abortable.js';
import { closeUnread, expectErrors } from '../streams/handed-stream.js';
import { openItems } from './handed-items.js';
import { type Spool, writeCopy } from './spool-folder.js';
import { type NextObject, writeObjects } from './write-objects.js';

/**
 * The bytes or the text of a CSV in pieces, such as a Readable, a web ReadableStream or an async iterable of Buffers; or
 * plain objects, one for each record. Values of objects are texts, finite numbers, bigints, booleans, Dates (written as
 * ISO texts), null or undefined (empty).
 */
export type SourceRecords = AsyncIterable<string | object> | Iterable<object>;

/** How such a source is shown: one of objects, or one of bytes. */
export const RECORDS = 'records';
const BYTES = 'bytes';

/** Whether a program has handed in the records of a run: only that program can go on with it. @param name of its copy. */
export function isHandedIn(name: string | undefined): boolean {
  return name === RECORDS || name === BYTES;
}

interface CopiedRecords {
  readonly path: string;
  /** `records` if they are objects. */
  readonly name: string;
}

/** Records that are copied once, however often the job looks for its source. */
export class HandedRecords {
  readonly #records: SourceRecords;
  #copied: (CopiedRecords & { readonly folder: string }) | undefined;
  #isOpened = false;

  /** @param records read to their end, or closed when that fails. */
  constructor(records: SourceRecords) {
    this.#records = records;
    expectErrors(records);
  }

  get isCopied(): boolean {
    return this.#copied !== undefined;
  }

  /**
   * @param columns the columns of objects, if the config lists them (`source.header`).
   * @throws SourceError `SOURCE_EMPTY`, `SOURCE_RECORDS_FAILED`, and those of `writeObjects` and `writeCopy`; nothing is
   *   left then.
   */
  async copyInto(spool: Spool, columns: readonly string[] | undefined): Promise<CopiedRecords> {
    const { folder } = spool;
    if (this.#copied?.folder === folder) return this.#copied;
    this.#isOpened = true;
    const items = openItems(this.#records);
    try {
      const first = await abortable(asIterable(items.next), spool.signal)[Symbol.asyncIterator]().next();
      if (first.done) throw nothing();
      const isBytes = typeof first.value === 'string' || types.isUint8Array(first.value);
      const next = startingWith(first, items.next);
      const pieces = isBytes ? piecesOf(next) : writeObjects(next, columns);
      const path = await writeCopy(spool, pieces);
      this.#copied = { folder, path, name: isBytes ? BYTES : RECORDS };
      return this.#copied;
    } catch (error) {
      items.close();
      throw error;
    }
  }

  /** Closes records that were not read, because their job was refused before it, or needs none. */
  close(): void {
    if (!this.#isOpened) closeUnread(this.#records);
    this.#isOpened = true;
  }
}

function asIterable(next: NextObject): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => ({ next: async () => next() }) };
}

function startingWith(first: IteratorResult<unknown>, next: NextObject): NextObject {
  let isFirst = true;
  return () => {
    if (!isFirst) return next();
    isFirst = false;
    return first;
  };
}

/** A character of two UTF-16 units may begin in one piece of text and end in the next one. */
async function* piecesOf(next: NextObject): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let half = '';
  let texts = 0;
  let hasLine = false;
  for (;;) {
    const { done, value } = await next();
    const text = done ? half : typeof value === 'string' ? half + value : undefined;
    if (text === undefined && half !== '') throw halfCharacter();
    half = done || !/[\ud800-\udbff]$/.test(text ?? '') ? '' : text!.slice(-1);
    const piece = text === undefined ? value : encode(half === '' ? text : text.slice(0, -1));
    if (!types.isUint8Array(piece)) {
      throw new SourceError('SOURCE_RECORD_VALUE', 'the records that were passed in mix bytes and objects', {
        hint: 'pass either the bytes of a CSV, or an object for each record; nothing was sent',
      });
    }
    if (text !== undefined && text !== '') texts += 1;
    hasLine ||= text === undefined || /[\r\n]/.test(text);
    bytes += piece.length;
    if (piece.length > 0) yield piece;
    if (done) break;
  }
  if (bytes === 0) throw nothing();
  if (texts > 1 && !hasLine) throw noLines(texts);
}

function encode(text: string): Buffer {
  if (!text.isWellFormed()) throw halfCharacter();
  return Buffer.from(text);
}

/** A list of names would be one long header. */
function noLines(texts: number): SourceError {
  return new SourceError(
    'SOURCE_RECORD_VALUE',
    `${texts} texts were passed in, and none of them has a line end: they are no CSV`,
    {
      hint: 'texts are joined as the pieces of a CSV; for records, give objects such as { name: text }; nothing was sent',
    },
  );
}

function halfCharacter(): SourceError {
  return new SourceError(
    'SOURCE_RECORD_VALUE',
    'the text that was passed in holds half of a surrogate pair, which no UTF-8 text can hold',
    {
      hint: 'a text was cut in the middle of a character; String.prototype.toWellFormed repairs it; nothing was sent',
    },
  );
}

function nothing(): SourceError {
  return new SourceError('SOURCE_EMPTY', 'no records were passed in, or they were read before', {
    hint: 'look at what makes them; a stream or a cursor can be read only once',
    facts: { file: RECORDS },
  });
}
