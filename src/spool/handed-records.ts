/**
 * Records that a program hands in instead of naming a file: bytes of a CSV, or objects. They are copied into the spool,
 * once for each call of a job, because they can be read only once.
 */
import { setImmediate } from 'node:timers/promises';
import { FoliopipeError, SourceError } from '../errors.js';
import { abortable } from '../streams/abortable.js';
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

export interface CopiedRecords {
  readonly path: string;
  /** `records` if they are objects. */
  readonly name: string;
}

/** Records that are copied once, however often the job looks for its source. */
export class HandedRecords {
  readonly #records: SourceRecords;
  #copied: (CopiedRecords & { readonly folder: string }) | undefined;

  /** @param records read to their end, or closed when that fails. */
  constructor(records: SourceRecords) {
    this.#records = records;
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
    const items = openItems(this.#records);
    try {
      const first = await abortable(asIterable(items.next), spool.signal)[Symbol.asyncIterator]().next();
      if (first.done) throw nothing();
      const isBytes = typeof first.value === 'string' || first.value instanceof Uint8Array;
      const next = startingWith(first, items.next);
      const pieces = isBytes ? piecesOf(next) : writeObjects(next, columns);
      const path = await writeCopy(spool, items.isSync ? lettingOthersRun(pieces) : pieces);
      this.#copied = { folder, path, name: isBytes ? BYTES : RECORDS };
      return this.#copied;
    } catch (error) {
      items.close();
      throw error;
    }
  }
}

interface Items {
  readonly next: NextObject;
  readonly isSync: boolean;
  /** Tells the producer that nothing more is read. */
  close(): void;
}

function openItems(records: SourceRecords): Items {
  const isOne = typeof records === 'string' || records instanceof Uint8Array;
  const iterable = (isOne ? [records] : records) as Partial<AsyncIterable<unknown> & Iterable<unknown>>;
  const iterator = iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]?.();
  if (iterator === undefined) {
    throw new SourceError('SOURCE_RECORDS_FAILED', 'the records that were handed in cannot be iterated', {
      hint: 'hand in a Readable, a web ReadableStream, or an iterable of Buffers or of objects',
    });
  }
  const isSync = iterable[Symbol.asyncIterator] === undefined;
  const next = (): ReturnType<NextObject> => {
    try {
      const result = iterator.next();
      return result instanceof Promise ? result.catch(failed) : result;
    } catch (error) {
      return failed(error);
    }
  };
  return {
    next,
    isSync,
    close: () => {
      try {
        // A generator that waits closes only after its wait, which may never end.
        Promise.resolve(iterator.return?.()).catch(() => undefined);
        (iterable as { destroy?: () => unknown }).destroy?.();
      } catch {
        // The first error counts.
      }
    },
  };
}

function asIterable(next: NextObject): AsyncIterable<unknown> {
  return { [Symbol.asyncIterator]: () => ({ next: async () => next() }) };
}

function failed(cause: unknown): never {
  if (cause instanceof FoliopipeError) throw cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  throw new SourceError(
    'SOURCE_RECORDS_FAILED',
    `the records that were handed in ended with an error: ${reason}`,
    {
      hint: 'remove the cause and hand them in again, from the first one on; nothing was sent',
      cause,
    },
  );
}

function startingWith(first: IteratorResult<unknown>, next: NextObject): NextObject {
  let isFirst = true;
  return () => {
    if (!isFirst) return next();
    isFirst = false;
    return first;
  };
}

async function* piecesOf(next: NextObject): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for (;;) {
    const { done, value } = await next();
    if (done) break;
    const piece = typeof value === 'string' ? Buffer.from(value) : value;
    if (!(piece instanceof Uint8Array)) {
      throw new SourceError('SOURCE_RECORD_VALUE', 'the records that were handed in mix bytes and objects', {
        hint: 'hand in either the bytes of a CSV, or an object for each record; nothing was sent',
      });
    }
    bytes += piece.length;
    yield piece;
  }
  if (bytes === 0) throw nothing();
}

/** Lets timers and signals in between two pieces: without them, an abort would never be seen. */
async function* lettingOthersRun<T>(pieces: AsyncIterable<T>): AsyncGenerator<T> {
  for await (const piece of pieces) {
    yield piece;
    await setImmediate();
  }
}

function nothing(): SourceError {
  return new SourceError('SOURCE_EMPTY', 'the records that were handed in are none, or were read before', {
    hint: 'look at what makes them; a stream or a cursor can be handed in once only',
    facts: { file: RECORDS },
  });
}
