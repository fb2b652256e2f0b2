/** A real HTTP server that answers as a test tells it, misbehaving included, and keeps what it was sent. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
  /** The client's port: two requests with the same one went over one connection. */
  readonly port: number | undefined;
}

/** Answers the request that came as the `nth` (from 1); its body has been read. */
export type Answer = (response: http.ServerResponse, request: SeenRequest, nth: number) => void;

export interface ApiServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

export async function openApiServer(answer: Answer): Promise<ApiServer> {
  const seen: SeenRequest[] = [];
  const server = http.createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    try {
      for await (const piece of request) pieces.push(piece as Buffer);
    } catch {
      return;
    }
    const url = new URL(request.url ?? '/', 'http://localhost');
    seen.push({
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      body: Buffer.concat(pieces).toString('utf8'),
      port: request.socket.remotePort,
    });
    answer(response, seen.at(-1)!, seen.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Answers with JSON. */
export function sendJson(
  response: http.ServerResponse,
  value: unknown,
  status = 200,
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

/** Cuts the connection without, or in the middle of, a reply. */
export function cut(response: http.ServerResponse): void {
  response.socket?.destroy();
}
