/** Checks, before a run begins, whether it could work with a database. Changes nothing. */
import type { DatabaseAddress } from '../../config/sections/load-section.js';
import type { PostgresSession } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import { refuseEncoding, refusePooler } from './migrate.js';
import { openShortConnection } from './open-postgres-state.js';
import { databaseDenied, databaseReadOnly } from './translate-state-error.js';

interface Rights {
  /** Whether it is a standby, or its settings forbid changes. */
  readonly isReadOnly: boolean;
  /** Whether the schema can be made; or, if it exists, whether tables can be made in it. */
  readonly mayCreate: boolean;
}

const rights: Prepared<Rights> = statement(`
  SELECT
    current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    CASE WHEN to_regnamespace('foliopipe') IS NULL THEN has_database_privilege(current_database(), 'CREATE')
      ELSE has_schema_privilege('foliopipe', 'USAGE') AND has_schema_privilege('foliopipe', 'CREATE')
    END AS "mayCreate"`);

/**
 * Refuses a database in which a run could not make its tables, or change them. A role that may use an existing schema
 * needs no right in the database itself.
 * @param address is checked over new connections, which are closed afterwards.
 * @throws ConfigError `STATE_DATABASE_DENIED`, `STATE_DATABASE_ENCODING`, `STATE_DATABASE_POOLED`; TroubleError
 *   `STATE_DATABASE_READ_ONLY`; the errors of the connection.
 */
export async function expectWritable(address: DatabaseAddress): Promise<void> {
  const opened: PostgresSession[] = [];
  const open = async () => {
    const session = await openShortConnection(address);
    opened.push(session);
    return session;
  };
  // Any role may read the catalog, even one that may create nothing.
  try {
    const session = await open();
    const [found] = await session.query(rights, {}, true);
    if (found!.isReadOnly) throw databaseReadOnly(session.place);
    if (!found!.mayCreate) {
      const lacks = 'it lacks the right to create the schema foliopipe, or tables in it';
      throw databaseDenied(session.place, lacks);
    }
    await refuseEncoding(session.place, (asked, values = {}) => session.query(asked, values, true));
    await refusePooler(session, await open());
  } finally {
    for (const session of opened) await session.close();
  }
}
