/**
 * The interface implemented once more, by somebody else: from service-interface.md alone, on node:http, with
 * csv-parse and csv-stringify. It behaves as badly as a test wants it to, and counts what it was asked.
 * Invariant: time plays no part in it; a folio is FINISHED from a certain poll on.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Behaviour, Operation, OtherFolio, SeenRequest } from './other-service-behaviour.js';
import { chunkOf, createFolio, partName, partsOf, trackReply, uploadReply } from './other-service-folios.js';
import { readMultipart, type UploadForm } from './other-service-multipart.js';
import { writePart } from './other-service-parts.js';

export interface OtherService {
  readonly url: string;
  readonly token: string;
  /** May be replaced at any time: the service is mended, or begins to behave badly. */
  behaviour: Behaviour;
  /** In the order in which they came. */
  readonly seen: readonly SeenRequest[];
  /** Uploads that were accepted. */
  readonly folios: readonly OtherFolio[];
  /** The largest number of folios that were not yet told to be FINISHED. */
  readonly mostOpen: number;
  count(operation: Operation): number;
  /** How many accepted uploads held each chunk. */
  acceptedByChunk(): ReadonlyMap<number, number>;
  /** How many accepted uploads held each record, by the value of a sent column. */
  acceptedByKey(column: string): ReadonlyMap<string, number>;
  /** 404 for it from now on. */
  forget(folio: OtherFolio): void;
  close(): Promise<void>;
}

const paths: Readonly<Record<string, Operation>> = {
  '/naics/naics/external/upload': 'upload',
  '/naics/naics/external/upload/file/info': 'track',
  '/naics/naics/external/upload/file/download': 'download',
};

/** Listens on a free port of this machine. */
export async function openOtherService(behaviour: Behaviour = {}): Promise<OtherService> {
  const seen: SeenRequest[] = [];
  const folios: OtherFolio[] = [];
  const server = http.createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      if (!response.destroyed && !response.headersSent) send(response, 500, String(error));
    });
  });

  async function handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = await readBody(request);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const operation = paths[url.pathname];
    if (operation === undefined) return send(response, 404, 'no such operation');
    const form =
      operation === 'upload' ? readMultipart(request.headers['content-type'] ?? '', body) : undefined;
    const folio = folios.find(({ id }) => id === url.searchParams.get('folio'));
    const asked = recordSeen(operation, form, folio, request, url.searchParams);

    const trouble = service.behaviour.trouble?.(asked);
    if (trouble?.kind === 'cut') return void request.socket.destroy();
    if (trouble?.kind === 'answer') return send(response, trouble.status, trouble.body, trouble.headers);
    if (asked.token !== service.token) return send(response, 401, '{"message":"who are you?"}');
    const { status, text } = form === undefined ? get(asked, folio) : ok(upload(form));
    if (trouble?.kind === 'lose') return sendShare(response, text, trouble.share);
    if (trouble?.kind === 'redirect') {
      return send(response, trouble.status, '', { location: trouble.location });
    }
    send(response, status, trouble === undefined ? text : trouble.change(text));
  }

  function recordSeen(
    operation: Operation,
    form: UploadForm | undefined,
    folio: OtherFolio | undefined,
    request: http.IncomingMessage,
    query: URLSearchParams,
  ): SeenRequest {
    const chunk = form === undefined ? (folio?.chunk ?? null) : chunkOf(form.fileName);
    const part = operation === 'download' ? `${query.get('fileStatus')} ${query.get('part')}` : null;
    const same = seen.filter((one) => one.operation === operation);
    const asked = {
      operation,
      nth: same.length + 1,
      again: same.filter((one) => one.chunk === chunk && one.part === part).length + 1,
      chunk,
      part,
      token: form?.fields.token ?? query.get('token') ?? [request.headers.token].flat()[0] ?? null,
    };
    seen.push(asked);
    return asked;
  }

  function upload(form: UploadForm): unknown {
    const folio = createFolio(form, folios.length + 1);
    folios.push(folio);
    const open = folios.filter(({ finished, forgotten }) => !finished && !forgotten).length;
    service.mostOpen = Math.max(service.mostOpen, open);
    return uploadReply(folio, service.behaviour);
  }

  function get(asked: SeenRequest, folio: OtherFolio | undefined): Replied {
    if (folio === undefined || folio.forgotten) return { status: 404, text: '{"message":"no such folio"}' };
    if (asked.operation === 'track') return ok(trackReply(folio, service.behaviour));
    if (!folio.finished) return { status: 409, text: '{"message":"not yet"}' };
    const part = partsOf(folio, service.behaviour).find((one) => partName(one) === asked.part);
    if (part === undefined) return { status: 404, text: '{"message":"no such part"}' };
    const content = writePart(part, service.behaviour.style?.(folio) ?? {}).toString('base64');
    return ok({ content, filename: '../../part.csv' });
  }

  const service = {
    url: '',
    token: 'token-of-the-other-service',
    behaviour,
    seen,
    folios,
    mostOpen: 0,
    count: (operation: Operation) => seen.filter((request) => request.operation === operation).length,
    acceptedByChunk: () => countBy(folios.map(({ chunk }) => chunk)),
    acceptedByKey: (column: string) =>
      countBy(folios.flatMap(({ records }) => records.map((record) => record[column] ?? ''))),
    forget: (folio: OtherFolio) => {
      folio.forgotten = true;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

interface Replied {
  readonly status: number;
  readonly text: string;
}

function ok(response: unknown): Replied {
  return { status: 200, text: JSON.stringify({ message: 'as you wish', response }) };
}

async function readBody(request: http.IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

function countBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function send(
  response: http.ServerResponse,
  status: number,
  body = '',
  headers: http.OutgoingHttpHeaders = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(body);
}

function sendShare(response: http.ServerResponse, text: string, share: number): void {
  if (share === 0) return void response.socket?.destroy();
  const bytes = Buffer.from(text);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.subarray(0, Math.floor(bytes.length * share)), () => response.socket?.destroy());
}
