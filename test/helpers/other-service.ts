/**
 * The interface implemented once more, by somebody else: from service-interface.md alone, on node:http, with
 * csv-parse and csv-stringify. It behaves as badly as a test wants it to, and counts what it was asked.
 * Invariant: time plays no part in it; a folio is FINISHED from a certain poll on.
 */
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { parse } from 'csv-parse/sync';
import type { FileStatus } from '../../src/types.js';
import { readMultipart } from './other-service-multipart.js';
import {
  type Answer,
  cutParts,
  foreseenAnswer,
  type OtherPart,
  type OtherResult,
  type PartStyle,
  type SentRecord,
  writePart,
} from './other-service-parts.js';

export type Operation = 'upload' | 'track' | 'download';

export interface OtherFolio {
  readonly id: string;
  readonly fileName: string;
  readonly description: string;
  readonly records: readonly SentRecord[];
  /** Number of the chunk in it, read off the file name. */
  readonly chunk: number;
  /** Polls answered so far. */
  polls: number;
  finished: boolean;
  forgotten: boolean;
}

/** One request as it came. */
export interface SeenRequest {
  readonly operation: Operation;
  /** How many of the same operation came so far, this one included. */
  readonly nth: number;
  /** How many of the same operation on the same chunk (and part) came so far, this one included. */
  readonly again: number;
  /** Null where the folio is not known. */
  readonly chunk: number | null;
  readonly part: string | null;
  readonly token: string | null;
}

/** What goes wrong with one request. */
export type Trouble =
  /** Nothing is done; this is the answer. */
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly headers?: http.OutgoingHttpHeaders;
      readonly body?: string;
    }
  /** Nothing is done, and the connection is cut. */
  | { readonly kind: 'cut' }
  /** It is done, and the connection is cut after this share of the reply's body; 0: before its headers. */
  | { readonly kind: 'lose'; readonly share: number }
  /** It is done, and the reply's text is changed. */
  | { readonly kind: 'change'; readonly change: (reply: string) => string }
  /** It is done, and the reply comes late. */
  | { readonly kind: 'wait'; readonly until: Promise<void> };

/** A reply's `response`, to be changed by a test. */
// biome-ignore lint/suspicious/noExplicitAny: a test may make anything of it, and that is its purpose
export type Reply = any;

/** Decides what goes wrong with a request, if anything. */
export type TroubleMaker = (request: SeenRequest) => Trouble | undefined;

export interface Behaviour {
  /** Which poll of a folio is the first that says FINISHED; 2. */
  readonly finishedAtPoll?: (folio: OtherFolio) => number;
  /** What is answered of a record, `place` being its place in the upload from 0. */
  readonly answer?: (record: SentRecord, place: number) => Answer;
  /** The results as they are given out: in another order, with more or less of them. */
  readonly results?: (results: readonly OtherResult[], folio: OtherFolio) => readonly OtherResult[];
  readonly style?: (folio: OtherFolio) => PartStyle;
  /** Records of a successful part; 10,000. */
  readonly partRecords?: number;
  /** Number of the failed part; 0. */
  readonly failedPart?: number;
  readonly receipt?: (reply: Reply, folio: OtherFolio) => Reply;
  readonly tracking?: (reply: Reply, folio: OtherFolio) => Reply;
  readonly trouble?: TroubleMaker;
}

export interface OtherService {
  readonly url: string;
  readonly token: string;
  /** May be replaced at any time: the service is mended, or begins to behave badly. */
  behaviour: Behaviour;
  /** In the order in which they came. */
  readonly seen: readonly SeenRequest[];
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
      if (!response.destroyed && !response.headersSent) sendText(response, 500, String(error));
    });
  });
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

  async function handle(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const operation = paths[url.pathname];
    if (operation === undefined) return sendText(response, 404, 'no such operation');
    const form =
      operation === 'upload'
        ? readMultipart(request.headers['content-type'] ?? '', Buffer.concat(pieces))
        : undefined;
    const folio = folios.find(({ id }) => id === url.searchParams.get('folio'));
    const chunk = form === undefined ? (folio?.chunk ?? null) : chunkOf(form.fileName);
    const status = url.searchParams.get('fileStatus');
    const part = operation === 'download' ? `${status} ${url.searchParams.get('part')}` : null;
    const same = seen.filter((one) => one.operation === operation);
    const token = form?.fields.token ?? url.searchParams.get('token') ?? header(request.headers.token);
    const asked: SeenRequest = {
      operation,
      nth: same.length + 1,
      again: same.filter((one) => one.chunk === chunk && one.part === part).length + 1,
      chunk,
      part,
      token,
    };
    seen.push(asked);

    const trouble = service.behaviour.trouble?.(asked);
    if (trouble?.kind === 'cut') return void request.socket.destroy();
    if (trouble?.kind === 'answer') return sendText(response, trouble.status, trouble.body, trouble.headers);
    if (token !== service.token) return sendText(response, 401, '{"message":"who are you?"}');
    let reply: Reply;
    if (form !== undefined) {
      reply = upload(form.fileName, form.fields.description ?? '', form.file);
    } else if (folio === undefined || folio.forgotten) {
      return sendText(response, 404, '{"message":"no such folio"}');
    } else if (operation === 'track') {
      reply = track(folio);
    } else {
      const found = partsOf(folio).find((one) => `${one.fileStatus} ${one.part}` === part);
      if (!folio.finished) return sendText(response, 409, '{"message":"not yet"}');
      if (found === undefined) return sendText(response, 404, '{"message":"no such part"}');
      const content = writePart(found, service.behaviour.style?.(folio) ?? {}).toString('base64');
      reply = { content, filename: '../../part.csv' };
    }
    const text = JSON.stringify({ message: 'as you wish', response: reply });
    switch (trouble?.kind) {
      case 'lose':
        return sendShare(response, text, trouble.share);
      case 'change':
        return sendText(response, 200, trouble.change(text));
      case 'wait':
        await trouble.until;
    }
    sendText(response, 200, text);
  }

  function upload(fileName: string, description: string, file: Buffer): Reply {
    const records: SentRecord[] = parse(file, { columns: true, bom: true });
    const id = `F${folios.length + 1}X${Buffer.from(fileName).toString('hex').slice(-12)}`;
    const folio: OtherFolio = {
      ...{ id, fileName, description, records, chunk: chunkOf(fileName) },
      ...{ polls: 0, finished: false, forgotten: false },
    };
    folios.push(folio);
    const open = folios.filter(({ finished, forgotten }) => !finished && !forgotten).length;
    service.mostOpen = Math.max(service.mostOpen, open);
    const reply = {
      folio: id,
      fileName,
      dateUpload: '2026-11-21T03:10:02.000+00:00',
      status: 'PROCESSING',
      totalRecords: records.length,
    };
    return service.behaviour.receipt?.(reply, folio) ?? reply;
  }

  function track(folio: OtherFolio): Reply {
    folio.polls += 1;
    const finishedAt = service.behaviour.finishedAtPoll?.(folio) ?? 2;
    folio.finished ||= folio.polls >= finishedAt;
    const share = folio.finished ? 1 : folio.polls / finishedAt;
    const parts = folio.finished ? partsOf(folio) : [];
    const records = (status: FileStatus) =>
      parts.filter(({ fileStatus }) => fileStatus === status).flatMap(({ results }) => results).length;
    const segment = ({ part, range, fileStatus }: OtherPart) => ({
      part,
      range,
      filename: `../../${fileStatus}-${part}.csv`,
    });
    const failed = parts.find(({ fileStatus }) => fileStatus === 'FAILED');
    const reply = {
      folio: folio.id,
      filename: folio.fileName,
      description: folio.description,
      createdAt: '2026-11-21T03:10:02.000+00:00',
      records: folio.records.length,
      progressInfo: {
        status: folio.finished ? 'FINISHED' : 'PROCESSING',
        processedPercentage: Math.floor(100 * share),
        processedRecords: Math.floor(folio.records.length * share),
        successfulRecords: records('SUCCESSFUL'),
        failedRecords: records('FAILED'),
      },
      segmentation: parts.filter(({ fileStatus }) => fileStatus === 'SUCCESSFUL').map(segment),
      failedInfo: failed === undefined ? { part: 0, range: '[0-0]', filename: '' } : segment(failed),
    };
    return service.behaviour.tracking?.(reply, folio) ?? reply;
  }

  function partsOf(folio: OtherFolio): OtherPart[] {
    const { answer = foreseenAnswer, results, partRecords = 10_000, failedPart = 0 } = service.behaviour;
    const honest = folio.records.map((sent, place) => ({ sent, ...answer(sent, place) }));
    return cutParts(results?.(honest, folio) ?? honest, partRecords, failedPart);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

function chunkOf(fileName: string): number {
  return Number(/-(\d+)-\d+-[0-9a-f]{8}\.csv$/.exec(fileName)?.[1] ?? Number.NaN);
}

function countBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function header(value: string | string[] | undefined): string | null {
  return [value].flat()[0] ?? null;
}

function sendText(
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
