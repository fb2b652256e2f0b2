/**
 * One connection to checkpoint.db: each call is one transaction, and its errors come out in our words. A kill of
 * the process takes back none that was resolved; what a power failure may take back is each change's own choice.
 */
import type { Database } from 'better-sqlite3';
import { translateStateError } from './translate-state-error.js';

export interface StateDatabase {
  /** Prepares a statement; done once, when the methods are made. */
  readonly prepare: Database['prepare'];
  /**
   * Makes a method of the port out of work that writes: one transaction, write lock taken at its start, on the
   * disk with all that was committed before it when it resolves.
   */
  change<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /**
   * The same without waiting for the disk, which is most of what a change costs. A power failure may take it back,
   * together with all that came after it, until the next `change` is made or the log is written back. Only for
   * what free work makes again out of what is left: nothing that was paid for, sent or published may hang on it.
   */
  redoableChange<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  /** Makes a method of the port out of work that only reads: one snapshot for all its statements. */
  read<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
  close(): Promise<void>;
}

/** Wraps an open connection, which it closes at `close`. */
export function createStateDatabase(connection: Database): StateDatabase {
  async function translated<R>(work: () => R): Promise<R> {
    try {
      return work();
    } catch (error) {
      throw translateStateError(error, connection.name);
    }
  }
  /** @param synchronous when SQLite syncs its log: FULL at each commit, NORMAL before it is written back. */
  function committing(synchronous: 'FULL' | 'NORMAL') {
    return <A extends unknown[], R>(work: (...args: A) => R) => {
      // The write lock first: a transaction that begins by reading fails when another process then writes.
      const { immediate } = connection.transaction(work);
      return (...args: A) =>
        translated<R>(() => {
          connection.exec(`PRAGMA synchronous = ${synchronous}`);
          return immediate(...args);
        });
    };
  }
  return {
    prepare: connection.prepare.bind(connection),
    change: committing('FULL'),
    redoableChange: committing('NORMAL'),
    read<A extends unknown[], R>(work: (...args: A) => R) {
      const { deferred } = connection.transaction(work);
      return (...args: A) => translated<R>(() => deferred(...args));
    },
    close: () => translated(() => void connection.close()),
  };
}
