/**
 * The process that starts and stops the Postgres server of one test file. Its package listens to signals and ends the
 * process at one of them, and a worker of vitest runs other test files after this one.
 */
import { rm } from 'node:fs/promises';

const { module, folder, options } = JSON.parse(process.argv[2]);
const { default: EmbeddedPostgres } = await import(module);
const server = new EmbeddedPostgres({ ...options, onLog: () => undefined, onError: () => undefined });

/** The package would wait forever for the end of a server that was killed. */
async function stop() {
  if (server.process?.exitCode === null && server.process.signalCode === null) await server.stop();
}

const actions = {
  initialise: () => server.initialise(),
  start: () => server.start(),
  stop,
};

process.on('message', async (action) => {
  try {
    await actions[action]();
    process.send({ failure: null });
  } catch (error) {
    process.send({ failure: `Postgres: ${action}: ${error?.message ?? 'the server has ended'}` });
  }
});

// The worker has ended.
process.on('disconnect', async () => {
  await stop();
  await rm(folder, { recursive: true, force: true });
  process.exit();
});
