/** The one place where a reply leaves the service. */
import type { FastifyReply } from 'fastify';
import type { Answer } from './answer.js';

/** Law 11: every reply says that it comes from a rehearsal. */
const SERVICE_HEADER = 'foliopipe-service';

/** Sends the answer as JSON. */
export function sendAnswer(reply: FastifyReply, answer: Answer): FastifyReply {
  reply.code(answer.status).header(SERVICE_HEADER, 'local').type('application/json; charset=utf-8');
  if (answer.retryAfter !== undefined) reply.header('retry-after', String(answer.retryAfter));
  return reply.send(answer.body);
}
