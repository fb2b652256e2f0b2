/** A call of a service with faults: counted, decided, worked on, stalled, and sent, cut or changed. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Answer, isDownload } from '../http/answer.js';
import type { Answering, Operate } from '../http/answering.js';
import type { Operation } from '../http/operation.js';
import { parameters } from '../http/parameters.js';
import { sendAnswer } from '../http/send-answer.js';
import { isFileStatus } from '../routes/download.js';
import type { ServiceLogger } from '../service-logger.js';
import type { FolioStore } from '../store/folio-store.js';
import type { TimeScale } from '../time-scale.js';
import { changeAnswer } from './change-answer.js';
import { changeBytes } from './change-bytes.js';
import { cutConnection, drain, rest, whenGone } from './connection.js';
import { type Fault, faultNames } from './fault.js';
import { type CallFacts, type Decided, FaultSession } from './fault-session.js';
import type { FaultPlan } from './rule.js';
import { toldFolios } from './told-folios.js';

export interface FaultContext {
  readonly plan: FaultPlan;
  readonly time: TimeScale;
  readonly store: FolioStore;
  /** What an operation that threw answers. */
  readonly refuse: (error: unknown) => Answer;
  /** Aborted when the service closes: nothing stalls any longer. */
  readonly closing: AbortSignal;
  readonly logger: ServiceLogger | undefined;
}

/** Answers as the plan says; a call that no rule means is answered as ever. */
export function answerWithFaults(context: FaultContext): Answering {
  const session = new FaultSession(context.plan, context.time);
  return (operation, operate) => async (request, reply) => {
    const decided = session.next(operation, callFacts(request, operation, context.store));
    const faults = faultNames(decided.fault);
    if (faults.length === 0) return sendAnswer(reply, await operate(request, context.store));
    const { number, folio } = decided.call;
    context.logger?.info({ operation, number, folio, faults }, 'faults hit a call');
    return answerFaulty(request, reply, operate, decided, context);
  };
}

async function answerFaulty(
  request: FastifyRequest,
  reply: FastifyReply,
  operate: Operate,
  { call, fault }: Decided,
  context: FaultContext,
): Promise<FastifyReply> {
  const { plan, time } = context;
  const signal = AbortSignal.any([context.closing, whenGone(reply)]);
  const answer = await workOn(request, operate, fault, context, signal);
  if (fault.stall !== undefined) await rest(time.toOurs(fault.stall), signal);
  if (signal.aborted || fault.cut === 'before-reply' || fault.cut === 'after-accepting') {
    return cutConnection(reply);
  }
  const { part } = parameters(request.query);
  const seed = [plan.seed, call.folio?.ordinal ?? 0, call.fileStatus ?? '', String(part)];
  const changed = changeAnswer(answer, call.operation, fault, seed);
  const hasContent = isDownload(changed.body);
  return sendAnswer(reply, changed, (bytes) => changeBytes(bytes, fault, { hasContent, time, signal }));
}

/** A status, or a cut before the reply, stands for a service that never got to work on the request. */
async function workOn(
  request: FastifyRequest,
  operate: Operate,
  fault: Fault,
  context: FaultContext,
  signal: AbortSignal,
): Promise<Answer> {
  if (fault.status !== undefined || fault.cut === 'before-reply') {
    await drain(request, signal);
    return troubleAnswer(fault, context.time);
  }
  try {
    return await operate(request, toldFolios(context.store, fault, context.time));
  } catch (error) {
    return context.refuse(error);
  }
}

function troubleAnswer({ status = 503, retryAfter }: Fault, time: TimeScale): Answer {
  return {
    status,
    body: { response: null, message: `a fault: the service answers ${status}` },
    retryAfter: retryAfter === undefined ? undefined : time.retryAfter(retryAfter),
  };
}

function callFacts(request: FastifyRequest, operation: Operation, store: FolioStore): CallFacts {
  const { folio, fileStatus } = parameters(request.query);
  const isOfFolio = operation === 'track' || operation === 'download';
  return {
    ordinal: isOfFolio && typeof folio === 'string' ? store.find(folio)?.id : undefined,
    fileStatus: operation === 'download' && isFileStatus(fileStatus) ? fileStatus : undefined,
  };
}
