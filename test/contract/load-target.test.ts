/** The targets of loads under the same contract, on real databases. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect } from 'vitest';
import { DatabaseAddress } from '../../src/config/sections/load-section.js';
import { createLoadTarget } from '../../src/load/configured-load.js';
import { createDuckdbTarget } from '../../src/load/duckdb/duckdb-target.js';
import { keepDuckdb } from '../helpers/duckdb/kept-duckdb.js';
import { queryDuckdb } from '../helpers/duckdb/query-duckdb.js';
import { useFolder } from '../helpers/folders/folders.js';
import { usePostgres } from '../helpers/postgres/postgres.js';
import { loadTargetContract } from './load-target-contract.js';

const server = usePostgres();

loadTargetContract('Postgres', async () => {
  const { url, query } = await server.createDatabase();
  const target = createLoadTarget({ address: new DatabaseAddress(url), connectMs: 5_000, tempFolder: '' });
  return { target, query };
});

const folder = useFolder();
const duckdb = keepDuckdb();
afterAll(duckdb.end);

loadTargetContract('DuckDB', async () => {
  // A schema of the contract has the name that DuckDB gives to this file.
  const file = join(await folder(), 'analytics.duckdb');
  const tempFolder = join(await folder(), 'temp');
  const options = { address: new DatabaseAddress(`duckdb:${file}`), connectMs: 5_000, tempFolder };
  const target = createDuckdbTarget({ ...options, start: duckdb.start });
  return {
    target: {
      ...target,
      load: async (...args) => {
        try {
          return await target.load(...args);
        } finally {
          expect(existsSync(tempFolder)).toBe(false);
        }
      },
    },
    query: (sql) => queryDuckdb(file, sql),
  };
});
