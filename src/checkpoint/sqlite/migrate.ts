/** Migrates a checkpoint to the tables of this version. The version of a file is its number of migrations. */
import type { Database } from 'better-sqlite3';
import { ConfigError } from '../../errors.js';

/** The version of the tables in the file; 0 for an empty file. */
export function schemaVersion(connection: Database): number {
  return Number(connection.pragma('user_version', { simple: true }));
}

/**
 * Runs the missing migrations, all in one transaction. A second call changes nothing.
 * @param migrations SQL, oldest first.
 * @param complete writes the files that belong to the tables; called before the commit.
 * @throws ConfigError `CHECKPOINT_NEWER` when the file has more migrations than these.
 */
export function migrate(connection: Database, migrations: readonly string[], complete?: () => void): void {
  refuseNewer(connection, migrations.length);
  if (schemaVersion(connection) === migrations.length) return;
  connection
    .transaction(() => {
      // Checked again: another process may have migrated while this one waited for the write lock.
      refuseNewer(connection, migrations.length);
      for (const sql of migrations.slice(schemaVersion(connection))) connection.exec(sql);
      connection.pragma(`user_version = ${migrations.length}`);
      complete?.();
    })
    .immediate();
}

/** @throws ConfigError `CHECKPOINT_NEWER` when a newer foliopipe has written the file. */
export function refuseNewer(connection: Database, known: number): void {
  const version = schemaVersion(connection);
  if (version <= known) return;
  throw new ConfigError(
    'CHECKPOINT_NEWER',
    `${connection.name} is of a newer foliopipe (its tables have version ${version}, known here: ${known})`,
    { facts: { path: connection.name, version, known } },
  );
}

/** @throws ConfigError `CHECKPOINT_OLDER` when the file needs a migration, because a reader does not migrate. */
export function refuseOlder(connection: Database, known: number): void {
  const version = schemaVersion(connection);
  if (version >= known) return;
  throw new ConfigError(
    'CHECKPOINT_OLDER',
    `${connection.name} is of an older foliopipe (its tables have version ${version}, known here: ${known})`,
    {
      facts: { path: connection.name, version, known },
    },
  );
}
