/** The one place where a reply leaves the service. */
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { type Answer, isDownload } from './answer.js';
import { base64Json } from './base64-json.js';

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
