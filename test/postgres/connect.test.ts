/** A transaction of its own, such as that of a load, whatever limits the role has. */
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { DatabaseAddress } from '../../src/config/sections/load-section.js';
import { ConfigError } from '../../src/errors.js';
import { withTransaction } from '../../src/postgres/connect.js';
import { usePostgres } from '../helpers/postgres/postgres.js';

const server = usePostgres();
const optionsOf = (address: DatabaseAddress) => ({
  address,
  connectMs: 10_000,
  begin: 'begin isolation level read committed',
  driverMissing: () => new ConfigError('LOAD_DRIVER_MISSING', 'there is no driver'),
  translate: (error: unknown) => error,
});

it('is not ended by the time-outs of its role', async () => {
  const database = await server.createDatabase();
  const address = new DatabaseAddress(await database.role('hurried', 'secret'));
  for (const limit of ['statement', 'transaction', 'idle_in_transaction_session']) {
    await database.query(`ALTER ROLE hurried SET ${limit}_timeout = '300ms'`);
  }
  const asked = await withTransaction(
    optionsOf(address),
    new AbortController().signal,
    async ({ query }, commit) => {
      await query('SELECT pg_sleep(0.4)');
      await sleep(400);
      const { rows } = await query<{ one: number }>('SELECT 1 AS one');
      await commit();
      return rows;
    },
  );
  expect(asked).toEqual([{ one: 1 }]);
});

it('ends when it is aborted while it connects to a server that does not answer', async () => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const address = new DatabaseAddress(`postgres://someone:secret@127.0.0.1:${port}/nothing`);
  const controller = new AbortController();
  const connected = once(server, 'connection');
  const ended = withTransaction(optionsOf(address), controller.signal, async () => 'done').catch(
    (error) => error,
  );
  const [socket] = await connected;
  const reason = new Error('the run has ended');
  controller.abort(reason);
  expect(await Promise.race([ended, sleep(8_000, 'still waiting', { ref: false })])).toBe(reason);
  socket.destroy();
  server.close();
});

it('ends when it is aborted while rows are copied, whether they are read then or not', async () => {
  const database = await server.createDatabase();
  const text = "copy (select repeat('x', 1000) from generate_series(1, 200000)) to stdout";
  for (const reads of [true, false]) {
    const controller = new AbortController();
    const reason = new Error('the run has ended');
    const ended = withTransaction(
      optionsOf(new DatabaseAddress(database.url)),
      controller.signal,
      async ({ copyTo }) => {
        const rows = copyTo(text)[Symbol.asyncIterator]();
        if (reads) await rows.next();
        controller.abort(reason);
        // An error that nobody listens to would end the process.
        if (reads) await rows.return?.();
        else await sleep(300);
        return rows.next();
      },
    ).catch((error) => error);
    const end = await Promise.race([ended, sleep(8_000, 'still waiting', { ref: false })]);
    expect(end === reason || end.done).toBe(true);
  }
});
