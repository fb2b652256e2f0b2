/**
 * Handlers for calls while faults are set: they count and carry out each call, then stall, change, cut or send its
 * reply.
 */
import { setMaxListeners } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isDownload, sendAnswer } from '../http/answer.js';
import { acceptUpload, type CreateHandler, type Operation } from '../http/operation.js';
import { parameters } from '../http/parameters.js';
import { isFileStatus } from '../routes/download.js';
import type { ServiceLogger } from '../service-logger.js';
import type { FolioReader } from '../store/folio-store.js';
import type { TimeScale } from '../time-scale.js';
import { changeAnswer } from './change-answer.js';
import { changeBytes } from './change-bytes.js';
import type { Call } from './decide-faults.js';
import { type Fault, faultNames } from './fault.js';
import type { CallFacts, FaultSession } from './fault-session.js';
import { type FaultyAnswer, type OperateContext, operateWithFaults } from './operate-with-faults.js';
import type { FaultPlan } from './rule.js';

interface FaultContext extends OperateContext {
  /** Aborted when the service closes; ends stalls and slow replies. */
  readonly closing: AbortSignal;
  readonly logger: ServiceLogger | undefined;
  /** The faults at this moment; undefined: none. */
  readonly faults: () => FaultSession | undefined;
}

/** Answers a call without faults, or that no rule matches, in the normal way. */
export function answerWithFaults(context: FaultContext): CreateHandler {
  // Avoids a warning: each call on its way listens.
  setMaxListeners(0, context.closing);
  return (operation, operate) => async (request, reply) => {
    const session = context.faults();
    if (session === undefined) {
      return sendAnswer(reply, await operate(request, context.store, acceptUpload));
    }
    const { plan } = session;
    const call = session.count(operation, callFacts(request, operation, context.store));
    const decide = (decided: Call) => decideAndLog(session, decided, context.logger);
    const signal = endSignal(reply, context.closing);
    const answered = await operateWithFaults({ request, operate, plan, call, decide, signal }, context);
    return sendWithFaults(request, reply, answered, { plan, call, signal }, context.time);
  };
}

function decideAndLog(session: FaultSession, call: Call, logger: ServiceLogger | undefined): Fault {
  const fault = session.decide(call);
  const { operation, number, folio } = call;
  const faults = faultNames(fault);
  if (faults.length > 0) {
    logger?.info(
      { operation, number, folio, faults },
      `faults hit ${operation} ${number}: ${faults.join(', ')}`,
    );
  }
  return fault;
}

function callFacts(request: FastifyRequest, operation: Operation, store: FolioReader): CallFacts {
  const { folio, fileStatus } = parameters(request.query);
  const isOfFolio = operation === 'track' || operation === 'download';
  return {
    folio: isOfFolio && typeof folio === 'string' ? store.find(folio)?.id : undefined,
    fileStatus: operation === 'download' && isFileStatus(fileStatus) ? fileStatus : undefined,
  };
}

/**
 * Aborted when the reply is sent, its connection is closed, or the service closes. After that nothing is left with the
 * signal of the service, as `AbortSignal.any` would leave something on Node 20.
 */
function endSignal(reply: FastifyReply, closing: AbortSignal): AbortSignal {
  const ended = new AbortController();
  const end = () => {
    closing.removeEventListener('abort', end);
    ended.abort();
  };
  closing.addEventListener('abort', end, { once: true });
  reply.raw.once('close', end);
  if (closing.aborted) end();
  return ended.signal;
}

async function sendWithFaults(
  request: FastifyRequest,
  reply: FastifyReply,
  { fault, answer }: FaultyAnswer,
  { plan, call, signal }: { readonly plan: FaultPlan; readonly call: Call; readonly signal: AbortSignal },
  time: TimeScale,
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
