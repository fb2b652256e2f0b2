/** The four operations of the interface (section 4), as rules name them. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ToldFolios } from '../routes/find-folio.js';
import { acceptAll, type Screen } from '../routes/screen.js';
import { type Answer, sendAnswer } from './answer.js';

export const OPERATIONS = ['upload', 'track', 'download', 'search'] as const;

export type Operation = (typeof OPERATIONS)[number];

// What stands between a request and its reply: an operation, and who sends what it answers.

/** @throws HttpRefusal for what it refuses. */
export type Operate = (
  request: FastifyRequest,
  folios: ToldFolios,
  screen: Screen,
) => Answer | Promise<Answer>;

/** Makes a route's handler of an operation. */
export type Answering = (
  operation: Operation,
  operate: Operate,
) => (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/** Every operation is answered with what it says. */
export function answerHonestly(folios: ToldFolios): Answering {
  return (_operation, operate) => async (request, reply) =>
    sendAnswer(reply, await operate(request, folios, acceptAll));
}
