/**
 * An HTTP server without any behaviour of its own: a script answers each request, and the server keeps what it was
 * sent. Tests of the HTTP client use it for raw and broken replies; the fake service runs on it.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** The bytes as UTF-8. */
  readonly body: string;
  /** The client's port: requests with the same port used the same connection. */
  readonly port: number | undefined;
}

/** Answers the `nth` request (from 1); its body has been read. */
export type Script = (response: http.ServerResponse, request: SeenRequest, nth: number) => void;

export interface ScriptedServer {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

/** Listens on a free port of this machine. */
export async function openScriptedServer(script: Script): Promise<ScriptedServer> {
  const seen: SeenRequest[] = [];
  const server = http.createServer(async (request, response) => {
    const bytes = await readBody(request).catch(() => undefined);
    // The client cut the connection while it was sending.
    if (bytes === undefined) return;
    const url = new URL(request.url ?? '/', 'http://localhost');
    seen.push({
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      headers: request.headers,
      bytes,
      body: bytes.toString('utf8'),
      port: request.socket.remotePort,
    });
    script(response, seen.at(-1)!, seen.length);
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

async function readBody(request: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

/** Answers with JSON. */
export function sendJson(
  response: http.ServerResponse,
  value: unknown,
  status = 200,
  headers: http.OutgoingHttpHeaders = {},
): void {
  sendText(response, JSON.stringify(value), status, headers);
}

/** Answers with a text that is said to be JSON, whatever it is. */
export function sendText(
  response: http.ServerResponse,
  text: string,
  status = 200,
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

/** Cuts the connection without, or in the middle of, a reply. */
export function cut(response: http.ServerResponse): void {
  response.socket?.destroy();
}
