/** What an operation answers, before it becomes an HTTP reply. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

export interface JsonBody {
  readonly response: object | null;
  readonly message: string;
}

export interface Answer {
  readonly status: number;
  /** Goes out as JSON; a text goes out as an HTML page. */
  readonly body: JsonBody | DownloadBody | string;
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number | undefined;
  /** Leaves out that a local service answers, as a fault. */
  readonly foreign?: boolean | undefined;
}

/** The reply shape of the interface, section 4: `response` and `message`. */
export function answer(response: object, message: string): Answer {
  return { status: 200, body: { response, message } };
}

/** Whether the answer carries a part. */
export function isDownload(body: Answer['body']): body is DownloadBody {
  return typeof body === 'object' && 'content' in body;
}

/** A JSON body with base64 content written piece by piece, so that a part of any size passes in flat memory. */
interface DownloadBody {
  /** The part's bytes, asked for only as fast as the client reads. */
  readonly content: Iterable<Uint8Array>;
  readonly filename: string;
  readonly message: string;
}

const HEAD = Buffer.from('{"response":{"content":"');

/** Where the base64 begins in the reply's bytes. */
export const CONTENT_OFFSET = HEAD.length;

/** The download reply of the interface, 4.3: `{"response":{"content","filename"},"message"}`. */
export function base64Json(body: DownloadBody): Readable {
  return Readable.from(writeJson(body), { objectMode: false });
}

function* writeJson(body: DownloadBody): Generator<Buffer> {
  yield HEAD;
  for (const text of encodeBase64(body.content)) yield Buffer.from(text, 'latin1');
  const tail = `","filename":${JSON.stringify(body.filename)}},"message":${JSON.stringify(body.message)}}`;
  yield Buffer.from(tail);
}

/** Encodes whole groups of three bytes and carries the rest over: padding stands only at the very end. */
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

// The one place where a reply leaves the service.

/** Law 11: every reply says that it comes from a rehearsal, unless a fault has it lie. */
const SERVICE_HEADER = 'foliopipe-service';

/** A reply's body, piece by piece. */
export type ReplyBytes = AsyncIterable<Buffer>;

/** Sends the answer. @param alter changes the body's bytes on their way out. */
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
