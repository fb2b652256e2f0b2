/** The targets of loads under the same contract, on real databases. */
import { afterAll, beforeAll } from 'vitest';
import { DatabaseAddress } from '../../src/config/load-section.js';
import { createLoadTarget } from '../../src/load/configured-load.js';
import { openPostgres, type PostgresServer } from '../helpers/postgres/postgres.js';
import { loadTargetContract } from './load-target-contract.js';

let server: PostgresServer;
beforeAll(async () => {
  server = await openPostgres();
});
afterAll(() => server.close());

loadTargetContract('Postgres', async () => {
  const { url, query } = await server.createDatabase();
  const target = createLoadTarget({ address: new DatabaseAddress(url), connectMs: 5_000 });
  return { target, query };
});
