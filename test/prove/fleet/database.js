/** The database of the fleet: a real server that can be stopped at once, and queries from outside the fleet. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { postmasterPid, startPostgres } from '../../../bench/postgres.js';

/** @param folder for its data; it must not exist. */
export async function startDatabase(folder) {
  const { server, url } = await startPostgres(folder);
  return {
    url,
    /** @returns the rows; undefined while the server is away. */
    ask: async (text, values) => {
      const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
      client.on('error', () => undefined);
      try {
        await client.connect();
        return (await client.query(text, values)).rows;
      } catch (error) {
        if (error.code?.startsWith('42')) throw error;
        return undefined;
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    /** Locks a table for a while, so that a process that changes its rows waits in a transaction. */
    holdTable: async (table, ms) => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => undefined);
      try {
        await client.connect();
        await client.query(`BEGIN; LOCK TABLE ${table} IN EXCLUSIVE MODE`);
        await sleep(ms);
        await client.query('ROLLBACK');
      } catch {
        // The server was stopped meanwhile.
      } finally {
        await client.end().catch(() => undefined);
      }
    },
    /** As `pg_ctl stop -m immediate`, and started again after a while. */
    breakFor: async (ms) => {
      const pid = postmasterPid(folder);
      process.kill(pid, 'SIGQUIT');
      while (isThere(pid)) await sleep(50);
      await sleep(ms);
      for (let left = 50; ; left--) {
        try {
          return await server.start();
        } catch (error) {
          if (left === 0) throw error;
          await sleep(200);
        }
      }
    },
    stop: async () => {
      if (existsSync(join(folder, 'postmaster.pid'))) await server.stop();
    },
  };
}

function isThere(pid) {
  try {
    // A zombie has ended, and its parent has not noticed.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
