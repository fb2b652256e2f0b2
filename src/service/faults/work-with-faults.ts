/**
 * The work on a call of a service with faults. A rule on an uploaded file is decided once the file is read,
 * any other before anything of the call is looked at; either way before anything is accepted.
 */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Milliseconds } from '../../types.js';
import type { Answer } from '../http/answer.js';
import { HttpRefusal } from '../http/http-refusal.js';
import type { Operate } from '../http/operation.js';
import type { ToldFolios } from '../routes/find-folio.js';
import type { Screen } from '../routes/screen.js';
import type { Folio } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';
import type { TimeScale } from '../time-scale.js';
import type { Call } from './decide-faults.js';
import type { Fault } from './fault.js';
import { type FaultPlan, isOfFiles } from './rule.js';

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

/** The folios as a service with faults tells of them; what it has in its store stays as it is. */
export function toldFolios(store: ToldFolios, fault: Fault, time: TimeScale): ToldFolios {
  return {
    find(name) {
      const folio = store.find(name);
      if (folio === undefined || fault.forget) return undefined;
      if (isExpired(folio, fault, time)) throw new HttpRefusal(410, 'the results of the folio have expired');
      return fault.neverFinishes ? unfinished(folio) : folio;
    },
    content: (part) => store.content(part),
  };
}

function isExpired(folio: Folio, { expire }: Fault, time: TimeScale): boolean {
  if (expire === undefined || folio.status !== 'FINISHED') return false;
  return time.toService(Date.now() - (folio.finishedAt ?? folio.createdAt)) >= expire;
}

/** At least one record is always left to be processed. */
function unfinished(folio: Folio): Folio {
  if (folio.successful + folio.failed < folio.records) return { ...folio, status: 'PROCESSING' };
  const { successful, failed } = folio;
  const oneLess = failed > 0 ? { failed: failed - 1 } : { successful: successful - 1 };
  return { ...folio, ...oneLess, status: 'PROCESSING' };
}

// Looks for texts in a file of any size, in flat memory.

/** @returns those of the texts whose UTF-8 bytes stand in the file. */
export async function findTexts(path: string, texts: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const sought = texts.map((text) => ({ text, bytes: Buffer.from(text) }));
  /** As much of what was read as a text may have begun in. */
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

// What is done to a client's connection rather than to its reply.

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
async function drain(request: FastifyRequest, signal: AbortSignal): Promise<void> {
  if (request.raw.readableEnded) return;
  request.raw.resume();
  await once(request.raw, 'end', { signal }).catch(() => undefined);
}

/** Waits; less when the signal is aborted before. */
export async function rest(ms: Milliseconds, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
