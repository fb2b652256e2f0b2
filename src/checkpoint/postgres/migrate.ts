/**
 * Migrates the tables in the schema `foliopipe`; any number of processes may do so at once. Refuses tables and connections
 * with which this version cannot work.
 */
import { ConfigError, LockedError } from '../../errors.js';
import type { PostgresSession, Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import { databasePooled } from './translate-state-error.js';

const SCHEMA = 'foliopipe';

const hasSchema: Prepared<{ found: boolean }> = statement(
  `SELECT to_regnamespace('${SCHEMA}') IS NOT NULL AS found`,
);
const hasTables: Prepared<{ found: boolean }> = statement(
  `SELECT to_regclass('${SCHEMA}.migrations') IS NOT NULL AS found`,
);
const readVersion: Prepared<{ version: number }> = statement(
  `SELECT coalesce(max(version), 0) AS version FROM ${SCHEMA}.migrations`,
);
const lockMigration = statement("SELECT pg_advisory_xact_lock(hashtext('foliopipe migration'))");
const lockLeases = statement(`LOCK TABLE ${SCHEMA}.leases IN SHARE ROW EXCLUSIVE MODE`);
const running: Prepared<{ pipeline: string }> = statement(
  `SELECT pipeline FROM ${SCHEMA}.leases WHERE until > clock_timestamp() LIMIT 1`,
);

/** The version of the tables; 0 if there are none. */
export async function schemaVersion(session: PostgresSession): Promise<number> {
  const [tables] = await session.query(hasTables, {}, true);
  return tables!.found ? (await session.query(readVersion, {}, true))[0]!.version : 0;
}

/**
 * Runs the missing migrations, all in one transaction. A second call changes nothing.
 * @param migrations SQL, oldest first.
 * @throws ConfigError `CHECKPOINT_NEWER`, `STATE_DATABASE_ENCODING`; LockedError `STATE_IN_USE` when the tables are of an
 *   older version and a pipeline is running.
 */
export async function migrate(session: PostgresSession, migrations: readonly string[]): Promise<void> {
  if ((await schemaVersion(session)) === migrations.length) return;
  await session.transaction('BEGIN', async (query) => {
    // One by one: another process may have migrated while this one waited.
    await query(lockMigration);
    const [schema] = await query(hasSchema);
    // Somebody else may have created the schema for a role that may not create one.
    if (!schema!.found) await query(statement(`CREATE SCHEMA ${SCHEMA}`));
    const [tables] = await query(hasTables);
    if (!tables!.found)
      await query(statement(`CREATE TABLE ${SCHEMA}.migrations (version bigint PRIMARY KEY)`));
    const version = (await query(readVersion))[0]!.version;
    refuseNewer(session.place, version, migrations.length);
    if (version === migrations.length) return;
    if (version === 0) await refuseEncoding(session.place, query);
    else {
      // No process takes a lease meanwhile. One of an older version that waits for the lock checks the version when it
      // has its lease.
      await query(lockLeases);
      refuseRunning(session.place, (await query(running))[0]);
    }
    for (const [at, sql] of migrations.entries()) {
      if (at < version) continue;
      for (const one of sql.split(/;\s*$/m)) if (one.trim() !== '') await query(statement(one));
      await query(statement(`INSERT INTO ${SCHEMA}.migrations (version) VALUES (${at + 1})`));
    }
  });
}

/** @throws ConfigError `CHECKPOINT_NEWER` when a newer foliopipe has made the tables. */
export function refuseNewer(place: string, version: number, known: number): void {
  if (version <= known) return;
  throw new ConfigError(
    'CHECKPOINT_NEWER',
    `the tables in ${place} are of a newer foliopipe (they have version ${version}, known here: ${known})`,
    { facts: { database: place, version, known } },
  );
}

/**
 * Whether there are tables. Migrates nothing, so tables of an older foliopipe are refused too.
 * @throws ConfigError `CHECKPOINT_NEWER`, `CHECKPOINT_OLDER`.
 */
export async function hasReadableTables(session: PostgresSession, known: number): Promise<boolean> {
  const { place } = session;
  const version = await schemaVersion(session);
  refuseNewer(place, version, known);
  if (version === 0 || version === known) return version > 0;
  throw new ConfigError(
    'CHECKPOINT_OLDER',
    `the tables in ${place} are of an older foliopipe (they have version ${version}, known here: ${known})`,
    { facts: { database: place, version, known } },
  );
}

function refuseRunning(place: string, found: { readonly pipeline: string } | undefined): void {
  if (found === undefined) return;
  const { pipeline } = found;
  throw new LockedError(
    'STATE_IN_USE',
    `the tables in ${place} are of an older foliopipe, and the pipeline ${pipeline} is running with them`,
    { facts: { database: place, pipeline } },
  );
}

const readEncoding: Prepared<{ encoding: string }> = statement(
  "SELECT current_setting('server_encoding') AS encoding",
);

/**
 * Refuses a database that cannot store every text, before anything is paid. `SQL_ASCII` stores all bytes as they are sent.
 * @throws ConfigError `STATE_DATABASE_ENCODING`.
 */
export async function refuseEncoding(place: string, query: Query): Promise<void> {
  const { encoding } = (await query(readEncoding))[0]!;
  if (encoding === 'UTF8' || encoding === 'SQL_ASCII') return;
  throw new ConfigError(
    'STATE_DATABASE_ENCODING',
    `${place} has the encoding ${encoding}, which cannot store every text of a source or of the service`,
    { facts: { database: place, encoding } },
  );
}

const backend: Prepared<{ pid: number }> = statement('SELECT pg_backend_pid() AS pid');

/**
 * Refuses a pooler in transaction mode, before anything is sent: prepared statements and settings of a connection would
 * be missing as soon as two processes work at once. Such a pooler lends the connection of an idle session to another
 * one.
 * @param session is otherwise idle meanwhile.
 * @throws ConfigError `STATE_DATABASE_POOLED`.
 */
export async function refusePooler(session: PostgresSession, other: PostgresSession): Promise<void> {
  const [own] = await session.query(backend, {}, true);
  const lent = await other.transaction('BEGIN', async (query) => (await query(backend))[0]!.pid, true);
  if (lent === own!.pid) throw databasePooled(session.place);
}
