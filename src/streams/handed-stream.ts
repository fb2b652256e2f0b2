/** Streams and iterables that a caller hands in, while nothing reads them. */
import type { Readable } from 'node:stream';

/** A Readable, a web ReadableStream, or an iterator. */
export interface Closeable {
  destroy(): unknown;
  cancel(): unknown;
  return(): unknown;
}

/**
 * Listens for the errors of a stream that is read later, such as that of a missing file, which fails at once: without a
 * listener, Node would end the process. The stream keeps the error for its reader.
 */
export function expectErrors(records: unknown): void {
  quietly(() => (records as Readable | undefined)?.on?.('error', () => undefined));
}

/**
 * Closes what was not iterated, such as a stream that has not failed yet. An iterable that opens something only when it
 * is iterated has nothing to close.
 */
export function closeUnread(records: unknown): void {
  if (typeof records !== 'object' || records === null || Array.isArray(records)) return;
  const { destroy, cancel, return: end } = records as Partial<Closeable>;
  const close = [destroy, cancel, end].find((method) => typeof method === 'function');
  expectErrors(records);
  if (close !== undefined) quietly(() => close.call(records));
}

/**
 * Closes without waiting, and ignores errors: the first error is reported elsewhere, and a generator that waits may never
 * close.
 */
export function quietly(close: () => unknown): void {
  try {
    Promise.resolve(close()).catch(() => undefined);
  } catch {
    // As above.
  }
}
