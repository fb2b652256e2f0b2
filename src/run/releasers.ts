/** A stack of what was opened, closed in reverse order. */

export interface Closeable {
  close(): Promise<void>;
}

export interface Releasers extends Closeable {
  add(opened: Closeable): void;
}

/** Closing goes on past a failure; the first one is thrown at the end. Closing twice does nothing more. */
export function createReleasers(): Releasers {
  const opened: Closeable[] = [];
  return {
    add: (resource) => void opened.push(resource),
    close: async () => {
      const failures: unknown[] = [];
      for (let next = opened.pop(); next !== undefined; next = opened.pop()) {
        await next.close().catch((error: unknown) => failures.push(error));
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
