/**
 * Carries out an operation with the faults that hit its call. If a rule has a condition on the uploaded file, decides the
 * faults after the file is read; otherwise before anything is read. Always decides before the upload is accepted.
 */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import type { FastifyRequest } from 'fastify';
import type { Milliseconds } from '../../types.js';
import type { Answer } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import type { CheckUpload, Operate } from '../http/operation.js';
import type { Folio } from '../store/folio.js';
import type { FolioReader } from '../store/folio-store.js';
import type { TimeScale } from '../time-scale.js';
import type { Call } from './decide-faults.js';
import type { Fault } from './fault.js';
import { type FaultPlan, hasFileCondition } from './rule.js';

export interface OperateContext {
  readonly time: TimeScale;
  readonly store: FolioReader;
  /** Makes the answer for an error of an operation. */
  readonly refuse: (error: unknown) => Answer;
}

interface FaultyCall {
  readonly request: FastifyRequest;
  readonly operate: Operate;
  readonly plan: FaultPlan;
  readonly call: Call;
  /** Decides the faults of the call. Must be called once, because it logs them. */
  readonly decide: (call: Call) => Fault;
  /** Aborted when the connection or the service is closed. */
  readonly signal: AbortSignal;
}

/** The answer of the operation, and the faults still to be applied to it. */
export interface FaultyAnswer {
  readonly fault: Fault;
  readonly answer: Answer;
}

/** Turns an error of the operation into an answer, and never throws it. */
export async function operateWithFaults(
  { request, operate, plan, call, decide, signal }: FaultyCall,
  { time, store, refuse }: OperateContext,
): Promise<FaultyAnswer> {
  let fault = call.operation === 'upload' && plan.rules.some(hasFileCondition) ? undefined : decide(call);
  if (fault !== undefined && preventsWork(fault)) {
    await drain(request, signal);
    return { fault, answer: errorAnswer(fault, time) };
  }
  const checkUpload: CheckUpload = async ({ path, records }) => {
    fault ??= decide({ ...call, file: { records, texts: await findTexts(path, textsOf(plan)) } });
    if (preventsWork(fault)) throw new Error('a fault refuses the file');
    return { failShare: fault.fail ?? 0, failSeed: plan.seed };
  };
  try {
    const answer = await operate(request, withFolioFaults(store, fault ?? {}, time), checkUpload);
    return { fault: fault ?? {}, answer };
  } catch (error) {
    // The service itself may reject the request before the file is checked; then the faults are not decided yet.
    fault ??= decide(call);
    return { fault, answer: preventsWork(fault) ? errorAnswer(fault, time) : refuse(error) };
  }
}

/** Whether the fault (a status, or a cut before the reply) simulates a service that never worked on the request. */
function preventsWork({ status, cut }: Fault): boolean {
  return status !== undefined || cut === 'before-reply';
}

function errorAnswer({ status = 503, retryAfter }: Fault, time: TimeScale): Answer {
  return {
    status,
    body: { response: null, message: `a fault: the service answers ${status}` },
    retryAfter: retryAfter === undefined ? undefined : time.retryAfter(retryAfter),
  };
}

/** Reads and drops the request's body: most clients read the reply only after sending all of it. */
async function drain(request: FastifyRequest, signal: AbortSignal): Promise<void> {
  if (request.raw.readableEnded) return;
  request.raw.resume();
  await once(request.raw, 'end', { signal }).catch(() => undefined);
}

/**
 * The folios as a call with faults sees them: unknown, expired or unfinished. Does not change the store. `find` throws
 * HttpRefusal 410 when the results have expired.
 */
export function withFolioFaults(folios: FolioReader, fault: Fault, time: TimeScale): FolioReader {
  return {
    find(name) {
      const folio = folios.find(name);
      if (folio === undefined || fault.forget) return undefined;
      if (fault.expire !== undefined && isExpired(folio, fault.expire, time)) {
        throw new HttpRefusal(410, 'the results of the folio have expired');
      }
      return fault.neverFinishes ? unfinished(folio) : folio;
    },
    content: (part) => folios.content(part),
  };
}

/** @param after the service's time since the folio was finished, or since its upload if that is unknown. */
function isExpired(folio: Folio, after: Milliseconds, time: TimeScale): boolean {
  if (folio.status !== 'FINISHED') return false;
  return time.toServiceTime(Date.now() - (folio.finishedAt ?? folio.createdAt)) >= after;
}

/** The folio as PROCESSING, with at least one record left to process. */
function unfinished(folio: Folio): Folio {
  if (folio.successful + folio.failed < folio.records) return { ...folio, status: 'PROCESSING' };
  const { successful, failed } = folio;
  const oneLess = failed > 0 ? { failed: failed - 1 } : { successful: successful - 1 };
  return { ...folio, ...oneLess, status: 'PROCESSING' };
}

function textsOf({ rules }: FaultPlan): string[] {
  return rules.flatMap(({ contains }) => contains ?? []);
}

/** Searches a file of any size in flat memory. @returns the texts whose UTF-8 bytes occur in it. */
export async function findTexts(path: string, texts: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const sought = texts.map((text) => ({ text, bytes: Buffer.from(text) }));
  /** Bytes kept from each piece, so that a text across two pieces is found. */
  const overlap = Math.max(0, ...sought.map(({ bytes }) => bytes.length - 1));
  let tail = Buffer.alloc(0);
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    const window = Buffer.concat([tail, piece]);
    for (const { text, bytes } of sought) if (window.includes(bytes)) found.add(text);
    if (found.size === sought.length) break;
    tail = window.subarray(Math.max(0, window.length - overlap));
  }
  return found;
}
