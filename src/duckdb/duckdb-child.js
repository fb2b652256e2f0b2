/**
 * The child process of open-duckdb.ts: runs the statements that its parent sends, in one connection. Plain JavaScript,
 * because a process is started from this file as it is, also when the sources run without a build.
 */
import { createRequire } from 'node:module';

// An import of this CommonJS package makes Node search its 60 files for names first, which takes as long as the rest.
const { DuckDBInstance } = createRequire(import.meta.url)('@duckdb/node-api');

// The parent decides when a statement is given up: a terminal sends its signals to this process as well.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => undefined);
// Statements run in other threads. They end with the process, and a transaction that is not committed is undone.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

let instance;
let connection;

/** What a message asks for; its answer is sent back under the same number. */
const actions = {
  open: async ({ database, options }) => {
    instance = await DuckDBInstance.create(database, options);
    connection = await instance.connect();
  },
  run: async ({ sql }) => void (await connection.run(sql)),
  rows: async ({ sql }) => (await connection.runAndReadAll(sql)).getRowObjectsJson(),
  close: async () => {
    connection.closeSync();
    instance.closeSync();
  },
};

process.on('message', async ({ number, action, ...values }) => {
  let answer;
  try {
    answer = { number, value: await actions[action](values) };
  } catch (error) {
    answer = { number, failure: String(error?.message ?? error) };
  }
  if (process.connected) process.send(answer);
});
