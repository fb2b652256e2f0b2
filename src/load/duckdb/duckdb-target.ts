/**
 * Loads a publication into a DuckDB file in one transaction. DuckDB runs in a child process and reads a copy of the
 * output from the disk. A kill of either process at any moment leaves either nothing or all of it.
 */
import type { ChildProcess } from 'node:child_process';
import { createWriteStream, existsSync, rmSync } from 'node:fs';
import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { diskError } from '../../disk-error.js';
import { DuckdbError, type DuckdbSession, openDuckdb } from '../../duckdb/open-duckdb.js';
import { makeFolder } from '../../make-folder.js';
import { checkedBytes } from '../check-read-file.js';
import type { Transaction } from '../database.js';
import { loadRows, tryLoad } from '../load-rows.js';
import type { LoadTarget, TargetOptions } from '../load-target.js';
import { checkNames } from '../names.js';
import { duckdbDialect, inlined, insertText } from './dialect.js';
import { readTable, readTableName } from './read-table.js';
import { translateError } from './translate-error.js';

/** How long to wait before a file that another process holds is tried again. */
const RETRY_MS = 100;

interface DuckdbTargetOptions extends TargetOptions {
  /** Starts the process of DuckDB, such as one that is kept from load to load. Default: a new one for each load. */
  readonly start?: () => ChildProcess;
}

export function createDuckdbTarget(options: DuckdbTargetOptions): LoadTarget {
  const file = options.address.file!;
  return {
    check: async (table, signal) => {
      checkNames(table, duckdbDialect.systemColumns);
      // Opening a missing file would create it.
      const database = existsSync(file) ? file : ':memory:';
      if (database !== file) await checkFolder(file, String(options.address));
      await withTransaction(options, database, signal, (transaction) => tryLoad(transaction, table));
    },
    load: async (request, { signal, at }) => {
      checkNames(request, duckdbDialect.systemColumns);
      // Removes what a killed load has left. A check removes nothing: it may run beside a load of the same pipeline.
      const clear = () => rmSync(options.tempFolder, { recursive: true, force: true });
      clear();
      try {
        return await withTransaction(options, file, signal, (transaction) =>
          loadRows(transaction, request, at),
        );
      } finally {
        clear();
      }
    },
  };
}

/** Runs a body in one transaction. It is undone unless the body commits it. */
async function withTransaction<T>(
  options: DuckdbTargetOptions,
  database: string,
  signal: AbortSignal,
  body: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const { address, tempFolder } = options;
  let session: DuckdbSession | undefined;
  try {
    session = await openWaiting(options, database, signal);
    if (database === address.file) await checkOpened(session);
    await session.run('begin transaction');
    return await body(transactionOf(session, tempFolder, signal));
  } catch (error) {
    throw signal.aborted ? signal.reason : translateError(error, String(address));
  } finally {
    await session?.close().catch(() => undefined);
  }
}

/** DuckDB opens some files, such as a CSV, as tables in its memory: rows that are loaded there would be lost. */
async function checkOpened({ rows }: DuckdbSession): Promise<void> {
  const [opened] = await rows<{ path: string | null }>(
    'select path from duckdb_databases() where database_name = current_database()',
  );
  if (opened?.path == null) throw new DuckdbError('IO Error: the file is not a valid DuckDB database file');
}

/** Waits while another process holds the file, at most as long as for a connection. */
async function openWaiting(
  { connectMs, tempFolder, start }: DuckdbTargetOptions,
  database: string,
  signal: AbortSignal,
): Promise<DuckdbSession> {
  const until = performance.now() + connectMs;
  for (;;) {
    try {
      return await openDuckdb('load.into', { database, tempFolder, signal, start });
    } catch (error) {
      if (!(error instanceof DuckdbError && error.isHeld) || performance.now() >= until) throw error;
      await pause(RETRY_MS, undefined, { signal });
    }
  }
}

function transactionOf(session: DuckdbSession, tempFolder: string, signal: AbortSignal): Transaction {
  const query: Transaction['query'] = async <Row>(statement: Parameters<Transaction['query']>[0]) => {
    const text = typeof statement === 'string' ? statement : inlined(statement);
    const rows = await session.rows<Row & { readonly Count?: string }>(text);
    return { rows, count: Number(rows[0]?.Count ?? 0) };
  };
  return {
    dialect: duckdbDialect,
    query,
    tableName: (table) => readTableName(session.rows, table),
    readTable: (name) => readTable(session.rows, name),
    // DuckDB locks the file as long as it is open.
    lock: async () => undefined,
    copy: async (into, file, at) => {
      const path = join(tempFolder, 'output.csv');
      makeFolder(tempFolder, 0o700);
      const { bytes, check } = checkedBytes(file, at);
      const copy = createWriteStream(path, { mode: 0o600 });
      await pipeline(bytes, copy, { signal }).catch((error: NodeJS.ErrnoException) => {
        // The system does not say which file it could not write.
        throw (error.syscall === 'write' && diskError(error, path)) || error;
      });
      check();
      const { count } = await query(insertText(into, path));
      rmSync(path);
      return count;
    },
    // DuckDB keeps one of the two rows without an error.
    isDoubleKey: () => false,
    commit: () => session.run('commit'),
  };
}

/** @throws the errors of `translateError` when no file can be created there. */
async function checkFolder(file: string, place: string): Promise<void> {
  try {
    // The slash makes a file of this name an error.
    await access(`${dirname(file)}/`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR';
    const text = isMissing ? 'No such file or directory' : 'Permission denied';
    throw translateError(new DuckdbError(`IO Error: Cannot create file "${file}": ${text}`), place);
  }
}
