/**
 * The prediction service for tests, over HTTP. It is independent: written from service-interface.md alone, with
 * csv-parse and csv-stringify, and without code of our client or of the local service. Options make it misbehave,
 * and it counts what it was asked. Invariant: time plays no part; a folio is FINISHED from a given poll on.
 */
import type http from 'node:http';
import type { Behaviour, FakeFolio, Operation, SeenRequest } from './behaviour.js';
import { chunkOf, createFolio, partName, partsOf, trackReply, uploadReply } from './folios.js';
import { readMultipart, type UploadForm } from './multipart.js';
import { predictedAnswer, type SentRecord, writePart } from './parts.js';
import { cut, openScriptedServer, type SeenRequest as RawRequest, sendText } from './scripted-server.js';

export interface FakeService {
  readonly url: string;
  readonly token: string;
  /** May be replaced at any time: the service recovers, or begins to misbehave. */
  behaviour: Behaviour;
  /** Requests in the order in which they came. */
  readonly seen: readonly SeenRequest[];
  /** Uploads that were accepted. */
  readonly folios: readonly FakeFolio[];
  /** The largest number of folios that were open at once: accepted and not yet reported as FINISHED. */
  readonly mostOpen: number;
  count(operation: Operation): number;
  /** How many accepted uploads held each chunk. */
  acceptedByChunk(): ReadonlyMap<number, number>;
  /** How many accepted uploads held each record, by the value of a sent column. */
  acceptedByKey(column: string): ReadonlyMap<string, number>;
  /** Answers 404 for the folio from now on. */
  forget(folio: FakeFolio): void;
  close(): Promise<void>;
}

const operations: Readonly<Record<string, Operation>> = {
  'POST /naics/naics/external/upload': 'upload',
  'GET /naics/naics/external/upload/file/info': 'track',
  'GET /naics/naics/external/upload/file/download': 'download',
  'POST /naics/naics/search/additional/': 'search',
};

/** Listens on a free port of this machine. */
export async function openFakeService(
  behaviour: Behaviour = {},
  token = 'token-of-the-fake-service',
): Promise<FakeService> {
  const seen: SeenRequest[] = [];
  const folios: FakeFolio[] = [];
  const server = await openScriptedServer((response, request) => {
    answer(response, request).catch((error: unknown) => sendText(response, String(error), 500));
  });

  async function answer(response: http.ServerResponse, request: RawRequest): Promise<void> {
    const operation = operations[`${request.method} ${request.path}`];
    if (operation === undefined) return void sendText(response, 'no such operation', 404);
    const sent = readSent(operation, request);
    const folio = folios.find(({ id }) => id === request.query.get('folio'));
    const asked = recordSeen(operation, sent, folio, request);

    const trouble = service.behaviour.trouble?.(asked);
    if (trouble?.kind === 'cut') return void cut(response);
    if (trouble?.kind === 'answer') {
      return void sendText(response, trouble.body ?? '', trouble.status, trouble.headers);
    }
    if (asked.token !== service.token) return void sendText(response, '{"message":"who are you?"}', 401);
    const { status, text } = reply(asked, sent, folio);
    await service.behaviour.hold?.(asked);
    if (trouble?.kind === 'lose') return void sendShare(response, text, trouble.share);
    if (trouble?.kind === 'redirect') {
      return void sendText(response, '', trouble.status, { location: trouble.location });
    }
    sendText(response, trouble === undefined ? text : trouble.change(text), status);
  }

  function recordSeen(
    operation: Operation,
    { form, record }: Sent,
    folio: FakeFolio | undefined,
    { query, headers }: RawRequest,
  ): SeenRequest {
    const chunk = form === undefined ? (folio?.chunk ?? null) : chunkOf(form.fileName);
    const part = operation === 'download' ? `${query.get('fileStatus')} ${query.get('part')}` : null;
    const same = seen.filter((one) => one.operation === operation);
    const inBody = form?.fields.token ?? record?.token;
    const asked = {
      operation,
      nth: same.length + 1,
      again: same.filter((one) => one.chunk === chunk && one.part === part).length + 1,
      chunk,
      part,
      token: inBody ?? query.get('token') ?? [headers.token].flat()[0] ?? null,
    };
    seen.push(asked);
    return asked;
  }

  function reply(asked: SeenRequest, { form, record }: Sent, folio: FakeFolio | undefined): Replied {
    if (form !== undefined) return ok(upload(form));
    // Interface, 4.4: what a search replies is not shown, so it is any JSON.
    if (record !== undefined) return { status: 200, text: JSON.stringify(predictedAnswer(record).added) };
    if (folio === undefined || folio.forgotten) return { status: 404, text: '{"message":"no such folio"}' };
    if (asked.operation === 'track') return ok(trackReply(folio, service.behaviour));
    if (!folio.finished) return { status: 409, text: '{"message":"not yet"}' };
    const part = partsOf(folio, service.behaviour).find((one) => partName(one) === asked.part);
    if (part === undefined) return { status: 404, text: '{"message":"no such part"}' };
    const content = writePart(part, service.behaviour.style?.(folio) ?? {}).toString('base64');
    return ok({ content, filename: '../../part.csv' });
  }

  function upload(form: UploadForm): unknown {
    const suffix = Buffer.from(form.fileName).toString('hex').slice(-12);
    const folio = createFolio(form, `F${folios.length + 1}X${suffix}`);
    folios.push(folio);
    const open = folios.filter(({ finished, forgotten }) => !finished && !forgotten).length;
    service.mostOpen = Math.max(service.mostOpen, open);
    return uploadReply(folio, service.behaviour);
  }

  const service = {
    url: server.url,
    token,
    behaviour,
    seen,
    folios,
    mostOpen: 0,
    count: (operation: Operation) => seen.filter((request) => request.operation === operation).length,
    acceptedByChunk: () => countBy(folios.map(({ chunk }) => chunk)),
    acceptedByKey: (column: string) =>
      countBy(folios.flatMap(({ records }) => records.map((record) => record[column] ?? ''))),
    forget: (folio: FakeFolio) => {
      folio.forgotten = true;
    },
    close: server.close,
  };
  return service;
}

/** The body of a request: the form of an upload, or the record of a search. */
interface Sent {
  readonly form?: UploadForm;
  readonly record?: SentRecord;
}

function readSent(operation: Operation, { headers, bytes, body }: RawRequest): Sent {
  if (operation === 'upload') return { form: readMultipart(headers['content-type'] ?? '', bytes) };
  return operation === 'search' ? { record: JSON.parse(body) as SentRecord } : {};
}

interface Replied {
  readonly status: number;
  readonly text: string;
}

function ok(response: unknown): Replied {
  return { status: 200, text: JSON.stringify({ message: 'as you wish', response }) };
}

function countBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function sendShare(response: http.ServerResponse, text: string, share: number): void {
  if (share === 0) return void cut(response);
  const bytes = Buffer.from(text);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.write(bytes.subarray(0, Math.floor(bytes.length * share)), () => cut(response));
}
