/** Connections to Postgres whose other side may be gone without a word. */
import net, { type AddressInfo, Socket } from 'node:net';
import { expect, it, vi } from 'vitest';
import { DatabaseAddress } from '../../src/config/sections/load-section.js';
import { ConfigError } from '../../src/errors.js';
import { withTransaction } from '../../src/postgres/connect.js';

it('the system asks soon whether the other side of a transaction is still there', async () => {
  const server = net.createServer((socket) => socket.on('error', () => undefined).destroy());
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const asks = vi.spyOn(Socket.prototype, 'setKeepAlive');
  const { port } = server.address() as AddressInfo;
  const options = {
    address: new DatabaseAddress(`postgres://me@127.0.0.1:${port}/db`),
    connectMs: 5_000,
    begin: 'begin',
    driverMissing: () => new ConfigError('MISSING', ''),
    translate: (error: unknown) => error,
  };
  try {
    await expect(
      withTransaction(options, new AbortController().signal, async () => undefined),
    ).rejects.toThrow();
    expect(asks).toHaveBeenCalledWith(true, 10_000);
  } finally {
    asks.mockRestore();
    server.close();
  }
});
