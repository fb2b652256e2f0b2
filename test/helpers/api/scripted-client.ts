/** The HTTP client under test and a scripted server that answers it. Both are closed after each test. */
import { afterEach } from 'vitest';
import type { ApiOptions } from '../../../src/api/open-prediction-api.js';
import { openScriptedServer, type Script, type ScriptedServer } from '../../fake-service/scripted-server.js';
import { openTestClient, type TestClient } from './test-client.js';

export interface ScriptedClient {
  /** The server and the client that `open` has opened last. */
  readonly server: ScriptedServer;
  readonly client: TestClient;
  /** @param at the path of the base address. */
  open(answer: Script, changes?: Partial<ApiOptions>, at?: string): Promise<void>;
}

export function useScriptedClient(): ScriptedClient {
  const opened: { close(): Promise<void> }[] = [];
  let server: ScriptedServer;
  let client: TestClient;
  afterEach(async () => {
    for (const one of opened.splice(0).reverse()) await one.close();
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
    open: async (answer, changes, at = '') => {
      server = await openScriptedServer(answer);
      client = openTestClient(`${server.url}${at}`, changes);
      opened.push(server, client);
    },
  };
}
