/**
 * The process that starts and stops the Postgres server of a worker's test files. Its package listens to signals and
 * ends the process at one of them, which would end the worker.
 */
import { rm } from 'node:fs/promises';

const { module, folder, options } = JSON.parse(process.argv[2]);
const { default: EmbeddedPostgres } = await import(module);
const server = new EmbeddedPostgres({ ...options, onLog: () => undefined, onError: () => undefined });

const isRunning = () => server.process?.exitCode === null && server.process.signalCode === null;

const actions = {
  initialise: () => server.initialise(),
  start: async () => {
    if (!isRunning()) await server.start();
  },
  // The package would wait forever for the end of a server that was killed.
  stop: async () => {
    if (isRunning()) await server.stop();
  },
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
  await actions.stop();
  await rm(folder, { recursive: true, force: true });
  process.exit();
});
