/** A network between a process and its database that can lose every byte, while each side takes its connections for open. */
import { once } from 'node:events';
import net from 'node:net';
import { afterEach, beforeEach } from 'vitest';
import { type Database, usePostgres } from './postgres.js';
import { useStateDatabase } from './postgres-state.js';

export interface SilentNetwork {
  /** The database as it is reached over this network. */
  readonly database: Database;
  /** Nothing arrives any more over the connections that are open now; over new ones it does. */
  loseConnections(): void;
  /** Nothing arrives any more, not even over new connections. */
  lose(): void;
  /** The next answers that hold this text do not arrive: their connections end instead. What was asked is done. */
  loseAnswer(text: string, times?: number): void;
  /** New connections work again. Those that were open have ended. */
  restore(): void;
  close(): Promise<void>;
}

export async function openSilentNetwork(database: Database): Promise<SilentNetwork> {
  const target = new URL(database.url);
  const open = new Set<net.Socket>();
  const lost = new WeakSet<net.Socket>();
  let isLost = false;
  let lostAnswer: { readonly text: string; times: number } | undefined;
  const forward = (from: net.Socket, to: net.Socket, isAnswer: boolean) => {
    open.add(from);
    from.on('error', () => undefined);
    from.on('data', (bytes) => {
      if (isLost || lost.has(from)) return;
      if (!isAnswer || lostAnswer === undefined || !bytes.includes(lostAnswer.text))
        return void to.write(bytes);
      lostAnswer.times -= 1;
      if (lostAnswer.times === 0) lostAnswer = undefined;
      from.destroy();
    });
    from.on('end', () => void (isLost || lost.has(from) || from.end()));
    from.on('close', () => {
      open.delete(from);
      if (!isLost && !lost.has(from)) to.destroy();
    });
  };
  // If the other side is lost, the end of its connections does not arrive either.
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    const far = net.connect(Number(target.port), target.hostname);
    forward(near, far, false);
    forward(far, near, true);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = new URL(target);
  url.port = String((server.address() as net.AddressInfo).port);
  return {
    database: { ...database, url: url.href },
    loseConnections: () => {
      for (const socket of open) lost.add(socket);
    },
    lose: () => {
      isLost = true;
    },
    loseAnswer: (text, times = 1) => {
      lostAnswer = { text, times };
    },
    restore: () => {
      isLost = false;
      for (const socket of open) socket.destroy();
    },
    close: async () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

/** A database for states as `useStateDatabase` gives it, and for each test a network to it of its own. */
export function useSilentNetwork(): { readonly database: Database; readonly network: SilentNetwork } {
  const state = useStateDatabase(usePostgres());
  let network: SilentNetwork;
  beforeEach(async () => {
    network = await openSilentNetwork(state.database);
  });
  afterEach(() => network.close());
  return {
    get database() {
      return state.database;
    },
    get network() {
      return network;
    },
  };
}
