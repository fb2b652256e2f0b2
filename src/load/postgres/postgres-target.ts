/**
 * Loads a publication into Postgres in one transaction. The bytes of the output are sent as they are, by COPY. A kill at
 * any moment leaves either nothing or all of it.
 */
import { ConfigError } from '../../errors.js';
import { type Transaction as Connection, withTransaction } from '../../postgres/connect.js';
import { checkedBytes } from '../check-read-file.js';
import type { TableName, Transaction } from '../database.js';
import { loadRows, tryLoad } from '../load-rows.js';
import type { LoadTarget, TargetOptions } from '../load-target.js';
import { checkNames } from '../names.js';
import { copyText, postgresDialect, RUN_SETTING } from './dialect.js';
import { readTable, readTableName } from './read-table.js';
import { isDoubleKey, translateError } from './translate-error.js';

export function createPostgresTarget(options: TargetOptions): LoadTarget {
  return {
    check: async (table, signal) => {
      checkNames(table, postgresDialect.systemColumns);
      await inTransaction(options, signal, (connection) =>
        tryLoad(
          transactionOf(connection, async () => undefined),
          table,
        ),
      );
    },
    load: async (request, { signal, at }) => {
      checkNames(request, postgresDialect.systemColumns);
      return inTransaction(options, signal, (connection, commit) =>
        loadRows(transactionOf(connection, commit), request, at),
      );
    },
  };
}

/** @throws the errors of `translateError`; ConfigError `LOAD_DRIVER_MISSING`; the signal's reason. */
function inTransaction<T>(
  target: TargetOptions,
  signal: AbortSignal,
  body: (connection: Connection, commit: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const begin = 'begin isolation level read committed';
  return withTransaction({ ...target, begin, driverMissing, translate: translateError }, signal, body);
}

function driverMissing(): ConfigError {
  return new ConfigError('LOAD_DRIVER_MISSING', 'load.into needs the packages pg and pg-copy-streams', {
    hint: 'npm install pg pg-copy-streams',
  });
}

function transactionOf({ query, copyFrom }: Connection, commit: Transaction['commit']): Transaction {
  return {
    dialect: postgresDialect,
    query,
    tableName: (table) => readTableName(query, table),
    readTable: (name) => readTable(query, name),
    lock: async ({ schema, name }: TableName) => {
      await query({
        text: `select pg_advisory_xact_lock(hashtextextended($1, 0))`,
        values: [`foliopipe ${schema}.${name}`],
      });
    },
    copy: async (into, file, at) => {
      if (into.run !== null) {
        await query({ text: `select set_config('${RUN_SETTING}', $1, true)`, values: [into.run] });
      }
      const { bytes, check } = checkedBytes(file, at);
      const records = await copyFrom(copyText(into), bytes);
      check();
      return records;
    },
    isDoubleKey,
    commit,
  };
}
