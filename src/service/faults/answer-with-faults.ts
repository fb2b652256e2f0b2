/** A call of a service with faults: counted, decided, worked on, stalled, and sent, cut or changed. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDownload, sendAnswer } from '../http/answer.js';
import type { Answering, Operation } from '../http/operation.js';
import { parameters } from '../http/parameters.js';
import { isFileStatus } from '../routes/download.js';
import type { ServiceLogger } from '../service-logger.js';
import type { FolioStore } from '../store/folio-store.js';
import { changeAnswer } from './change-answer.js';
import { changeBytes } from './change-bytes.js';
import type { Call } from './decide-faults.js';
import { faultNames } from './fault.js';
import { type CallFacts, FaultSession } from './fault-session.js';
import {
  cutConnection,
  rest,
  type WorkContext,
  type Worked,
  whenGone,
  workWithFaults,
} from './work-with-faults.js';

export interface FaultContext extends WorkContext {
  /** Aborted when the service closes: nothing stalls any longer. */
  readonly closing: AbortSignal;
  readonly logger: ServiceLogger | undefined;
}

/** Answers as the plan says; a call that no rule means is answered as ever. */
export function answerWithFaults(context: FaultContext): Answering {
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
    const signal = AbortSignal.any([context.closing, whenGone(reply)]);
    const worked = await workWithFaults({ request, operate, call, decide, signal }, context);
    return reportWork(request, reply, worked, call, signal, context);
  };
}

async function reportWork(
  request: FastifyRequest,
  reply: FastifyReply,
  { fault, answer }: Worked,
  call: Call,
  signal: AbortSignal,
  { plan, time }: FaultContext,
): Promise<FastifyReply> {
  if (faultNames(fault).length === 0) return sendAnswer(reply, answer);
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

function callFacts(request: FastifyRequest, operation: Operation, store: FolioStore): CallFacts {
  const { folio, fileStatus } = parameters(request.query);
  const isOfFolio = operation === 'track' || operation === 'download';
  return {
    ordinal: isOfFolio && typeof folio === 'string' ? store.find(folio)?.id : undefined,
    fileStatus: operation === 'download' && isFileStatus(fileStatus) ? fileStatus : undefined,
  };
}
