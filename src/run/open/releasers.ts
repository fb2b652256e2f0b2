/** What a process has opened, and closes again in reverse order. */

export interface Closeable {
  close(): Promise<void>;
}

/** A stack of opened resources. */
export interface Releasers extends Closeable {
  add(opened: Closeable): void;
}

/**
 * Closes resources in reverse order. After a failure the others are still closed, and the first error is thrown at the
 * end. A second `close` meanwhile ends with the first: each resource is needed until those after it are closed.
 */
export function createReleasers(): Releasers {
  const opened: Closeable[] = [];
  let closing: Promise<void> | undefined;
  const closeAll = async () => {
    const failures: unknown[] = [];
    for (let next = opened.pop(); next !== undefined; next = opened.pop()) {
      await next.close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  };
  return {
    add: (resource) => void opened.push(resource),
    close: () => {
      closing ??= closeAll().finally(() => {
        closing = undefined;
      });
      return closing;
    },
  };
}
