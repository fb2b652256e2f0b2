/** The state in a Postgres database, emptied for each test, because making its tables takes much longer. */
import { beforeAll, beforeEach } from 'vitest';
import {
  openConnection,
  openPostgresState,
  type PostgresState,
} from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { DatabaseAddress } from '../../../src/config/sections/load-section.js';
import type { PostgresSession } from '../../../src/postgres/session.js';
import type { Database, PostgresServer } from './postgres.js';

/** Makes a function that deletes all rows, on a connection that ends with the server. */
export async function stateEmptier({ connect }: Database): Promise<() => Promise<void>> {
  const client = await connect();
  client.on('error', () => undefined);
  const { rows } = await client.query<{ name: string }>(
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'foliopipe' AND tablename <> 'migrations'",
  );
  // Quicker than TRUNCATE, because a test leaves few rows.
  const text = rows.map(({ name }) => `DELETE FROM foliopipe.${name}`).join('; ');
  return async () => void (await client.query(text));
}

/** A database with the tables of a state, which each test of a file finds empty. */
export interface StateDatabase {
  readonly database: Database;
  /** Deletes all rows. */
  empty(): Promise<void>;
}

export function useStateDatabase(server: PostgresServer): StateDatabase {
  let database: Database;
  let empty: () => Promise<void>;
  beforeAll(async () => {
    database = await server.createDatabase();
    await (await openState(database)).close();
    empty = await stateEmptier(database);
  });
  beforeEach(() => empty());
  return {
    get database() {
      return database;
    },
    empty: () => empty(),
  };
}

/** Opens the state, as a process does. */
export function openState({ url }: Database): Promise<PostgresState> {
  return openPostgresState(new DatabaseAddress(url));
}

/** Opens only a connection to the state. */
export function openStateConnection(
  { url }: Pick<Database, 'url'>,
  options?: Parameters<typeof openConnection>[1],
): Promise<PostgresSession> {
  return openConnection(new DatabaseAddress(url), options);
}
