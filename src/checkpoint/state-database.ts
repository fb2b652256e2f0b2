/** One connection to checkpoint.db: each call is one transaction, and its errors come out in our words. */
import type { Database } from 'better-sqlite3';
import { translateStateError } from './translate-state-error.js';

export interface StateDatabase {
  /** Prepares a statement; done once, when the methods are made. */
  readonly prepare: Database['prepare'];
  /** Makes a method of the port out of work that writes: one transaction, write lock taken at its start. */
  change<A extends unknown[], R>(work: (...args: A) => R): (...args: A) => Promise<R>;
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
  return {
    prepare: connection.prepare.bind(connection),
    change<A extends unknown[], R>(work: (...args: A) => R) {
      // The write lock first: a transaction that begins by reading fails when another process then writes.
      const { immediate } = connection.transaction(work);
      return (...args: A) => translated<R>(() => immediate(...args));
    },
    read<A extends unknown[], R>(work: (...args: A) => R) {
      const { deferred } = connection.transaction(work);
      return (...args: A) => translated<R>(() => deferred(...args));
    },
    close: () => translated(() => void connection.close()),
  };
}
