/** The answer of an operation, and sending it as an HTTP reply. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

export interface Answer {
  readonly status: number;
  /** An object is sent as JSON, a string as an HTML page. */
  readonly body: JsonBody | DownloadBody | string;
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number | undefined;
  /** A fault: leaves out the header that identifies the local service. */
  readonly foreign?: boolean | undefined;
}

interface JsonBody {
  readonly response: object | null;
  readonly message: string;
}

/** A part, to be sent in base64 within JSON. */
interface DownloadBody {
  /** The part's bytes, read only as fast as the client reads the reply. */
  readonly content: Iterable<Uint8Array>;
  readonly filename: string;
  readonly message: string;
}

/** A reply's body in pieces. */
export type ReplyBytes = AsyncIterable<Buffer>;

/** In every reply: rule "A rehearsal never looks real" (docs/architecture.md#a-rehearsal-never-looks-real). */
const SERVICE_HEADER = 'foliopipe-service';

/** A reply of the interface, section 4: `response` and `message`. */
export function answer(response: object, message: string): Answer {
  return { status: 200, body: { response, message } };
}

/** A timestamp of the interface, 2.1: ISO 8601 with milliseconds and a UTC offset. @param at ms since the epoch. */
export function isoTimestamp(at: number): string {
  return new Date(at).toISOString().replace('Z', '+00:00');
}

export function isDownload(body: Answer['body']): body is DownloadBody {
  return typeof body === 'object' && 'content' in body;
}

/** Sends a reply; all replies use it. @param alter changes the body's bytes as they are sent. */
export function sendAnswer(
  reply: FastifyReply,
  answer: Answer,
  alter?: (bytes: ReplyBytes) => ReplyBytes,
): FastifyReply {
  const type = typeof answer.body === 'string' ? 'text/html' : 'application/json';
  reply.code(answer.status).type(`${type}; charset=utf-8`);
  if (!answer.foreign) reply.header(SERVICE_HEADER, 'local');
  if (answer.retryAfter !== undefined) reply.header('retry-after', String(answer.retryAfter));
  const body = isDownload(answer.body) ? base64Json(answer.body) : answer.body;
  if (alter === undefined) return reply.send(body);
  const bytes = body instanceof Readable ? body : Readable.from([bytesOf(body)]);
  return reply.send(Readable.from(alter(bytes), { objectMode: false }));
}

function bytesOf(body: object | string): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

const BASE64_JSON_HEAD = Buffer.from('{"response":{"content":"');

/** Offset of the base64 text in the reply's bytes. */
export const CONTENT_OFFSET = BASE64_JSON_HEAD.length;

/**
 * The download reply of the interface, 4.3: `{"response":{"content","filename"},"message"}`. Writes it in pieces, so
 * that a part of any size needs little memory.
 */
export function base64Json(body: DownloadBody): Readable {
  return Readable.from(writeJson(body), { objectMode: false });
}

function* writeJson(body: DownloadBody): Generator<Buffer> {
  yield BASE64_JSON_HEAD;
  for (const text of encodeBase64(body.content)) yield Buffer.from(text, 'latin1');
  const tail = `","filename":${JSON.stringify(body.filename)}},"message":${JSON.stringify(body.message)}}`;
  yield Buffer.from(tail);
}

/** Encodes whole groups of three bytes and carries the rest over, so that padding occurs only at the end. */
function* encodeBase64(pieces: Iterable<Uint8Array>): Generator<string> {
  let carried = Buffer.alloc(0);
  for (const piece of pieces) {
    const bytes = Buffer.concat([carried, piece]);
    const whole = bytes.length - (bytes.length % 3);
    carried = bytes.subarray(whole);
    if (whole > 0) yield bytes.toString('base64', 0, whole);
  }
  if (carried.length > 0) yield carried.toString('base64');
}
