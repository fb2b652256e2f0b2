/** What a worker answers to monitors: `/healthz`, and `/metrics` for Prometheus. It shows nothing of configs. */
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../errors.js';
import { http } from '../node-http.js';
import { fleetMetrics } from './fleet-metrics.js';
import type { OpenFleet } from './open-fleet.js';
import type { WorkerStatus } from './work.js';

/** A worker that has had no answer from the database for this long is not healthy. */
const UNHEALTHY_AFTER_MS = 60_000;

interface StatusPort {
  readonly port: number;
  /** Such as `http://127.0.0.1:9100`. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * @param place the port may be 0, for a free one.
 * @throws ConfigError `WORKER_PORT_TAKEN` when nothing can listen there.
 */
export async function openStatusPort(
  place: { readonly host: string; readonly port: number },
  fleet: Pick<OpenFleet, 'queue' | 'tables'>,
  statusOf: () => WorkerStatus,
): Promise<StatusPort> {
  const answer = async (path: string | undefined, response: ServerResponse) => {
    const worker = statusOf();
    if (path === '/healthz') {
      const isSilent = worker.silentMs > UNHEALTHY_AFTER_MS;
      const status = isSilent ? 'the database does not answer' : worker.isDraining ? 'draining' : 'ok';
      const { pipelines } = worker;
      send(response, isSilent ? 503 : 200, 'application/json', JSON.stringify({ status, runs: pipelines }));
    } else if (path === '/metrics') {
      const { type, text } = await fleetMetrics(fleet, worker);
      send(response, 200, type, text);
    } else send(response, 404, 'text/plain', 'there is /healthz and /metrics\n');
  };
  const server = http.createServer((request, response) => {
    const path = request.url?.split('?')[0];
    answer(path, response).catch(() => send(response, 503, 'text/plain', 'the database does not answer\n'));
  });
  await new Promise<void>((resolve, reject) => {
    // Also hears of later connections that cannot be accepted. Without a listener, they would end the worker.
    server.on('error', (cause: NodeJS.ErrnoException) => {
      const what = `--port: cannot listen on ${place.host}, port ${place.port} (${cause.code})`;
      reject(new ConfigError('WORKER_PORT_TAKEN', what, { facts: { ...place }, cause }));
    });
    server.listen(place.port, place.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = place.host.includes(':') ? `[${place.host}]` : place.host;
  return {
    port,
    address: `http://${host}:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text);
}
