/**
 * The decoded content of the parts that were stored last. While a run goes on most parts are joined right after they
 * were stored: they need not be read, decompressed and hashed for that. Invariant: what is given is what the file
 * holds, as far as the system tells: one that was touched since is not known here.
 */
import { giveBack } from '../streams/buffer-pool.js';
import { stampAt } from '../streams/stamp.js';

/** Of all of them together: the parts of a few chunks of the usual size. */
const MOST_BYTES = 4 * 1024 * 1024;

export interface RecentParts {
  /**
   * Right after the file was written.
   * @param content whoever takes it may give it back to the buffer pool.
   */
  keep(path: string, sha256: string, content: Buffer): void;
  /** The content, which is no longer kept then. */
  take(path: string, sha256: string): Buffer | undefined;
}

/** Keeps the newest ones that fit. */
export function createRecentParts(mostBytes = MOST_BYTES): RecentParts {
  const contents = new Map<string, Buffer>();
  let bytes = 0;
  const keyOf = (path: string, sha256: string) => `${sha256} ${stampAt(path)}`;
  const remove = (key: string): Buffer | undefined => {
    const content = contents.get(key);
    contents.delete(key);
    bytes -= content?.length ?? 0;
    return content;
  };
  return {
    keep: (path, sha256, content) => {
      const key = keyOf(path, sha256);
      remove(key);
      contents.set(key, content);
      bytes += content.length;
      for (const [oldest, dropped] of contents) {
        if (bytes <= mostBytes) return;
        remove(oldest);
        giveBack(dropped);
      }
    },
    take: (path, sha256) => remove(keyOf(path, sha256)),
  };
}
