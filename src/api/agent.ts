/** The connections under the HTTP client: direct, or through a proxy's tunnel. */
import http from 'node:http';
import https from 'node:https';
import type { Duplex } from 'node:stream';
import { HttpsProxyAgent } from 'hpagent';
import type { Milliseconds } from '../types.js';

export interface AgentOptions {
  readonly protocol: string;
  /** False: each request has a connection of its own, so that no closing one can make it ambiguous. */
  readonly keepAlive: boolean;
  /** For https:// only. */
  readonly proxy: URL | undefined;
  readonly connectTimeout: Milliseconds;
}

export function openAgent({ protocol, keepAlive, proxy, connectTimeout }: AgentOptions): http.Agent {
  if (protocol !== 'https:') return new http.Agent({ keepAlive });
  if (proxy === undefined) return new https.Agent({ keepAlive });
  return new TunnelAgent({ keepAlive, proxy, timeout: connectTimeout });
}

type Connected = (error: NodeJS.ErrnoException | null, socket: Duplex) => void;

/** What a proxy does wrong has no code of its own. */
class TunnelAgent extends HttpsProxyAgent {
  override createConnection(
    options: http.ClientRequestArgs,
    connected: Connected,
  ): Duplex | null | undefined {
    return super.createConnection(options, (error: NodeJS.ErrnoException | null, socket: Duplex) => {
      if (error === null) return connected(error, socket);
      const message = `the proxy: ${error.message}`;
      connected(Object.assign(new Error(message), { code: error.code ?? 'PROXY_FAILED' }), socket);
    });
  }
}
