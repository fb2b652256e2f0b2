/** What is done to a client's connection rather than to its reply. */
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Milliseconds } from '../../types.js';

/** Closes the connection without a reply. */
export function cutConnection(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}

/** Aborted when the reply has left, or when its client has gone before. */
export function whenGone(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return gone.signal;
}

/** Reads and drops a request's body, so that its client gets round to reading the reply. */
export async function drain(request: FastifyRequest, signal: AbortSignal): Promise<void> {
  if (request.raw.readableEnded) return;
  request.raw.resume();
  await once(request.raw, 'end', { signal }).catch(() => undefined);
}

/** Waits; less when the signal is aborted before. */
export async function rest(ms: Milliseconds, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
