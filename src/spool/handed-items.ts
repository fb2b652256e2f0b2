/**
 * Reads the records that a program hands in, and copes with any iterator: one that throws, gives promises of any kind,
 * never waits, or is never read.
 */
import { setImmediate } from 'node:timers/promises';
import { FoliopipeError, SourceError } from '../errors.js';
import { type Closeable, quietly } from '../streams/handed-stream.js';
import { showText, thrownText } from '../text.js';
import type { NextObject } from './write-objects.js';

/** The longest time for which the event loop is blocked: timers, signals and other requests wait meanwhile. */
const TURN_MS = 15;

interface HandedItems {
  /** @throws SourceError `SOURCE_RECORDS_FAILED` with the error of the producer as its cause. */
  readonly next: NextObject;
  /** Tells the producer that nothing more is read. */
  close(): void;
}

type Handed = Partial<
  AsyncIterable<unknown> & Iterable<unknown> & Closeable & Pick<ReadableStream<unknown>, 'getReader'>
>;

/** @throws SourceError `SOURCE_RECORDS_FAILED` for what cannot be iterated. */
export function openItems(records: unknown): HandedItems {
  const isOne = typeof records === 'string' || ArrayBuffer.isView(records);
  const iterable = (isOne ? [records] : (records ?? {})) as Handed;
  const { iterator, isSync } = iteratorOf(iterable);
  let isClosed = false;
  let since = performance.now();

  const read = (): ReturnType<NextObject> => {
    if (isClosed) return { done: true, value: undefined };
    try {
      const asked: unknown = iterator.next();
      if (isThenable(asked)) return Promise.resolve(asked).then(checkResult).catch(failed);
      const result = checkResult(asked);
      return isSync && isThenable(result.value) ? whenKept(result.value) : result;
    } catch (error) {
      return failed(error);
    }
  };
  const next = (): ReturnType<NextObject> => {
    if (performance.now() - since < TURN_MS) return read();
    // Lets other work run, so that an abort is noticed even if the producer never waits.
    return setImmediate().then(() => {
      since = performance.now();
      return read();
    });
  };
  const close = () => {
    isClosed = true;
    quietly(() => iterator.return?.());
    quietly(() => iterable.destroy?.());
  };
  return { next, close };
}

function iteratorOf(iterable: Handed): {
  iterator: Iterator<unknown> | AsyncIterator<unknown>;
  isSync: boolean;
} {
  let opened: Iterator<unknown> | AsyncIterator<unknown> | undefined;
  let isSync = false;
  try {
    if (typeof iterable.getReader === 'function') {
      return { iterator: readWeb(iterable.getReader()), isSync };
    }
    isSync = typeof iterable[Symbol.asyncIterator] !== 'function';
    opened = isSync ? iterable[Symbol.iterator]?.() : iterable[Symbol.asyncIterator]!();
  } catch (error) {
    return failed(error);
  }
  if (typeof opened?.next === 'function') return { iterator: opened, isSync };
  throw new SourceError('SOURCE_RECORDS_FAILED', 'the records that were passed in cannot be iterated', {
    hint: 'pass a Readable, a web ReadableStream, or an iterable of Buffers or of objects',
  });
}

/** Reads a web stream. The stream's own iterator cannot be closed while it waits for the next piece. */
function readWeb(reader: ReadableStreamDefaultReader<unknown>): AsyncIterator<unknown> {
  return {
    next: () => reader.read() as Promise<IteratorResult<unknown>>,
    return: async () => {
      await reader.cancel();
      return { done: true, value: undefined };
    },
  };
}

/** Also a promise of another realm, such as the one in which a test runs. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>> | null | undefined)?.then === 'function';
}

function checkResult(result: unknown): IteratorResult<unknown> {
  if (typeof result === 'object' && result !== null) return result as IteratorResult<unknown>;
  return failed(new TypeError('their iterator gave no result'));
}

async function whenKept(value: PromiseLike<unknown>): Promise<IteratorResult<unknown>> {
  try {
    return { done: false, value: await value };
  } catch (error) {
    return failed(error);
  }
}

function failed(cause: unknown): never {
  if (cause instanceof FoliopipeError) throw cause;
  throw new SourceError(
    'SOURCE_RECORDS_FAILED',
    `the records that were passed in ended with an error: ${showText(thrownText(cause), 200)}`,
    {
      hint: 'remove the cause and pass them again, from the first one on; nothing was sent',
      cause,
    },
  );
}
