/**
 * The work on a call of a service with faults. A rule on an uploaded file is decided once the file is read,
 * any other before anything of the call is looked at; either way before anything is accepted.
 */
import type { FastifyRequest } from 'fastify';
import type { Answer } from '../http/answer.js';
import type { Operate } from '../http/answering.js';
import type { Screen } from '../routes/screen.js';
import type { FolioStore } from '../store/folio-store.js';
import type { TimeScale } from '../time-scale.js';
import { drain } from './connection.js';
import type { Call } from './decide-faults.js';
import type { Fault } from './fault.js';
import { findTexts } from './find-texts.js';
import { type FaultPlan, isOfFiles } from './rule.js';
import { toldFolios } from './told-folios.js';

export interface WorkContext {
  readonly plan: FaultPlan;
  readonly time: TimeScale;
  readonly store: FolioStore;
  /** What an operation that threw answers. */
  readonly refuse: (error: unknown) => Answer;
}

export interface Work {
  readonly request: FastifyRequest;
  readonly operate: Operate;
  readonly call: Call;
  /** Asked once a call. */
  readonly decide: (call: Call) => Fault;
  /** Aborted when nobody waits for the answer any longer. */
  readonly signal: AbortSignal;
}

export interface Worked {
  readonly fault: Fault;
  readonly answer: Answer;
}

export async function workWithFaults(work: Work, context: WorkContext): Promise<Worked> {
  const { request, operate, call, decide, signal } = work;
  const { plan, time, store, refuse } = context;
  let fault = call.operation === 'upload' && plan.rules.some(isOfFiles) ? undefined : decide(call);
  if (fault !== undefined && isKeptFromWork(fault)) {
    await drain(request, signal);
    return { fault, answer: troubleAnswer(fault, time) };
  }
  const screen: Screen = async ({ path, records }) => {
    fault ??= decide({ ...call, file: { records, texts: await findTexts(path, textsOf(plan)) } });
    if (isKeptFromWork(fault)) throw new Error('a fault refuses the file');
    return { failShare: fault.fail ?? 0, failSeed: plan.seed };
  };
  try {
    const answer = await operate(request, toldFolios(store, fault ?? {}, time), screen);
    return { fault: fault ?? {}, answer };
  } catch (error) {
    // What the service refuses by itself is refused before there is a file to look at.
    fault ??= decide(call);
    return { fault, answer: isKeptFromWork(fault) ? troubleAnswer(fault, time) : refuse(error) };
  }
}

/** A status, or a cut before the reply, stands for a service that never got to work on the request. */
function isKeptFromWork({ status, cut }: Fault): boolean {
  return status !== undefined || cut === 'before-reply';
}

function troubleAnswer({ status = 503, retryAfter }: Fault, time: TimeScale): Answer {
  return {
    status,
    body: { response: null, message: `a fault: the service answers ${status}` },
    retryAfter: retryAfter === undefined ? undefined : time.retryAfter(retryAfter),
  };
}

function textsOf({ rules }: FaultPlan): string[] {
  return rules.flatMap(({ contains }) => contains ?? []);
}
