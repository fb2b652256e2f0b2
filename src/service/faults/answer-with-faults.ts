/** Handlers of a service with faults: they count and carry out each call, then stall, change, cut or send its reply. */
import { setTimeout } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDownload, sendAnswer } from '../http/answer.js';
import type { CreateHandler, Operation } from '../http/operation.js';
import { parameters } from '../http/parameters.js';
import { isFileStatus } from '../routes/download.js';
import type { ServiceLogger } from '../service-logger.js';
import type { FolioReader } from '../store/folio-store.js';
import { changeAnswer } from './change-answer.js';
import { changeBytes } from './change-bytes.js';
import type { Call } from './decide-faults.js';
import { faultNames } from './fault.js';
import { type CallFacts, FaultSession } from './fault-session.js';
import { type FaultyAnswer, type OperateContext, operateWithFaults } from './operate-with-faults.js';

export interface FaultContext extends OperateContext {
  /** Aborted when the service closes; ends stalls and slow replies. */
  readonly closing: AbortSignal;
  readonly logger: ServiceLogger | undefined;
}

/** Answers a call that no rule matches in the normal way. */
export function answerWithFaults(context: FaultContext): CreateHandler {
  const session = new FaultSession(context.plan, context.time);
  const decide = (call: Call) => {
    const fault = session.decide(call);
    const { operation, number, folio } = call;
    const faults = faultNames(fault);
    if (faults.length > 0) context.logger?.info({ operation, number, folio, faults }, 'faults hit a call');
    return fault;
  };
  return (operation, operate) => async (request, reply) => {
    const call = session.count(operation, callFacts(request, operation, context.store));
    const signal = AbortSignal.any([context.closing, closedSignal(reply)]);
    const answered = await operateWithFaults({ request, operate, call, decide, signal }, context);
    return sendWithFaults(request, reply, answered, call, signal, context);
  };
}

function callFacts(request: FastifyRequest, operation: Operation, store: FolioReader): CallFacts {
  const { folio, fileStatus } = parameters(request.query);
  const isOfFolio = operation === 'track' || operation === 'download';
  return {
    ordinal: isOfFolio && typeof folio === 'string' ? store.find(folio)?.id : undefined,
    fileStatus: operation === 'download' && isFileStatus(fileStatus) ? fileStatus : undefined,
  };
}

/** Aborted when the reply is sent or its connection is closed. */
function closedSignal(reply: FastifyReply): AbortSignal {
  const closed = new AbortController();
  reply.raw.once('close', () => closed.abort());
  return closed.signal;
}

async function sendWithFaults(
  request: FastifyRequest,
  reply: FastifyReply,
  { fault, answer }: FaultyAnswer,
  call: Call,
  signal: AbortSignal,
  { plan, time }: FaultContext,
): Promise<FastifyReply> {
  if (faultNames(fault).length === 0) return sendAnswer(reply, answer);
  if (fault.stall !== undefined) {
    await setTimeout(time.toRealTime(fault.stall), undefined, { signal }).catch(() => undefined);
  }
  if (signal.aborted || fault.cut === 'before-reply' || fault.cut === 'after-accepting') {
    return closeConnection(reply);
  }
  const { part } = parameters(request.query);
  const seed = [plan.seed, call.folio?.ordinal ?? 0, call.fileStatus ?? '', String(part)];
  const changed = changeAnswer(answer, call.operation, fault, seed);
  const hasContent = isDownload(changed.body);
  return sendAnswer(reply, changed, (bytes) => changeBytes(bytes, fault, { hasContent, time, signal }));
}

/** Closes the connection without a reply. */
function closeConnection(reply: FastifyReply): FastifyReply {
  reply.hijack();
  reply.raw.destroy();
  return reply;
}
