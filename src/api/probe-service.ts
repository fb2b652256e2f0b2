/** Asks the service free questions, for `foliopipe check`, and keeps what each reply shows. Judges nothing. */
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../streams/clock.js';
import { withTimeLimit } from '../streams/time-limit.js';
import type { Milliseconds } from '../types.js';
import { redirectOrigin, retryAfterOf, visibleText } from './error-reply.js';
import { type Failure, failureOf, isBusy, isRedirect, isThrottle } from './failure.js';
import { type HttpClient, openHttpClient, type Proxies } from './http-client.js';
import { isOfLocalService, readBytes } from './read-reply.js';
import { createRequests, type RequestsOptions } from './requests.js';
import type { HttpReply, HttpRequest } from './send-request.js';
import { createServiceText, type ServiceText } from './service-text.js';

export interface ProbeOptions extends RequestsOptions {
  readonly timeouts: RequestsOptions['timeouts'] & { readonly connect: Milliseconds };
  readonly proxies?: Proxies | undefined;
}

/** What a reply shows. `said` can be shown to people. */
export interface ProbeReply {
  readonly status: number;
  /** What its body is. `object`: a JSON object. */
  readonly body: 'object' | 'json' | 'html' | 'text' | 'empty';
  /** Whether the body has the members of every reply of the interface (section 4). */
  readonly hasMessage: boolean;
  readonly hasResponse: boolean;
  readonly said: string;
  /** The body without what differs from request to request: equal gists mean the same answer. */
  readonly gist: string;
  /** The origin to which it redirects, or null. */
  readonly redirectsTo: string | null;
  /** How long the service asks to wait, if a 429 or 503 says so. */
  readonly retryAfter: Milliseconds | null;
  /** Whether it says that it comes from a local service. */
  readonly isLocal: boolean;
}

export type Probe = { readonly reply: ProbeReply } | { readonly failure: Failure };

export interface ServiceProbes {
  /** The answer about a folio that does not exist. */
  readonly asked: Probe;
  /** The answer at an address beside it that no service has; null if it was not asked. */
  readonly wrongPath: Probe | null;
  /** The answer to the same question with a token that cannot be right; null if it was not asked. */
  readonly wrongToken: Probe | null;
}

/** Longest time of all requests together. */
const TOTAL: Milliseconds = 8_000;
/** The waits before further attempts, when nothing answers or the service is busy. */
const RETRY_AFTER: readonly Milliseconds[] = [250, 1_000];
/** The longest wait that a service may ask for before a further attempt; if it asks for more, no attempt follows. */
const MOST_WAIT: Milliseconds = 2_000;
const MAX_BYTES = 64 * 1024;
const FOLIO = 'foliopipe-check';
const WRONG_TOKEN = 'foliopipe-check-wrong-token';

/**
 * Polls a folio that does not exist, which costs nothing. The interface does not define the answer, so the same is
 * asked at a wrong path and with a wrong token, and the answers are compared.
 * @throws ConfigError as `createRequests` does; the signal's reason.
 */
export async function probeService(options: ProbeOptions, signal: AbortSignal): Promise<ServiceProbes> {
  return withAsker(options, signal, async (ask) => {
    const request = createRequests(options).track(FOLIO);
    const asked = await ask(request);
    if (!('reply' in asked) || isOver(asked.reply)) {
      return { asked, wrongPath: null, wrongToken: null };
    }
    const url = new URL(request.url);
    url.pathname = url.pathname.replace(/info$/, FOLIO);
    const wrongPath = await ask({ ...request, url });
    const token = { reveal: () => WRONG_TOKEN };
    const wrongToken = await ask(createRequests({ ...options, token }).track(FOLIO));
    return { asked, wrongPath, wrongToken };
  });
}

/**
 * Sends a GET without the token to the address of the single-record search. A search is a POST and costs money, so this
 * only shows whether something answers there.
 * @returns null if no address of the search is configured.
 */
export async function probeSearch(options: ProbeOptions, signal: AbortSignal): Promise<Probe | null> {
  const search = createRequests(options).search({});
  if (search === undefined) return null;
  const { idle } = options.timeouts;
  return withAsker(options, signal, (ask) =>
    ask({ method: 'GET', url: search.url, headers: {}, headersTimeout: idle }),
  );
}

/** Whether further requests would show nothing new. A 500 may be the service's answer about an unknown folio. */
function isOver({ status, redirectsTo }: ProbeReply): boolean {
  return redirectsTo !== null || (isBusy(status) && status !== 500);
}

/** Sends a request, and again if its failure may pass. */
type Ask = (request: HttpRequest) => Promise<Probe>;

async function withAsker<T>(
  options: ProbeOptions,
  signal: AbortSignal,
  body: (ask: Ask) => Promise<T>,
): Promise<T> {
  const show = createServiceText(options.token);
  const { connect, idle } = options.timeouts;
  const client = openHttpClient({
    connectTimeout: connect,
    idleTimeout: idle,
    proxies: options.proxies ?? {},
    clock: systemClock,
    show,
  });
  const gistOf = createGist(options.token.reveal());
  const ask = async (request: HttpRequest, limited: AbortSignal): Promise<Probe> => {
    for (let attempt = 0; ; attempt++) {
      const probe = await sendOnce(client, request, { show, gistOf, signal: limited });
      signal.throwIfAborted();
      const wait = RETRY_AFTER[attempt];
      const asked = 'reply' in probe ? (probe.reply.retryAfter ?? 0) : 0;
      if (wait === undefined || asked > MOST_WAIT || limited.aborted || !mayPass(probe)) return probe;
      await sleep(Math.max(wait, asked), undefined, { signal: limited }).catch(() => undefined);
    }
  };
  try {
    return await withTimeLimit(signal, TOTAL, (limited) => body((request) => ask(request, limited)));
  } finally {
    client.close();
  }
}

interface Reading {
  readonly show: ServiceText;
  readonly gistOf: (text: string) => string;
  readonly signal: AbortSignal;
}

async function sendOnce(client: HttpClient, request: HttpRequest, reading: Reading): Promise<Probe> {
  try {
    const reply = await client.send(request, reading.signal);
    try {
      return { reply: await readProbe(reply, request.url, reading) };
    } finally {
      reply.discard();
    }
  } catch (error) {
    const failure = failureOf(error, reading.show);
    if (failure === undefined) throw error;
    return { failure };
  }
}

async function readProbe(reply: HttpReply, requested: URL, { show, gistOf }: Reading): Promise<ProbeReply> {
  const { status } = reply;
  const text = (await readBytes(reply.body, MAX_BYTES)).bytes.toString('utf8').trim();
  const value = parse(text);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const fields = isObject ? (value as Record<string, unknown>) : {};
  const body = isObject ? 'object' : value !== undefined ? 'json' : kindOfText(text);
  return {
    status,
    body,
    hasMessage: typeof fields.message === 'string',
    hasResponse: 'response' in fields,
    said: show(typeof fields.message === 'string' ? fields.message : visibleText(text)),
    // The text of a page may differ each time (a time, a form's secret).
    gist: `${status} ${body} ${body === 'html' ? '' : gistOf(text)}`,
    redirectsTo: isRedirect(status) ? redirectOrigin(reply.header('location'), requested) : null,
    retryAfter: isThrottle(status) ? retryAfterOf(reply) : null,
    isLocal: isOfLocalService(reply),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function kindOfText(text: string): 'html' | 'text' | 'empty' {
  if (text === '') return 'empty';
  return text.startsWith('<') ? 'html' : 'text';
}

/** Removes what a service may repeat from the request, and times and numbers of requests. */
function createGist(token: string): (text: string) => string {
  const repeated = [token, encodeURIComponent(token), WRONG_TOKEN, 'file/info', `file/${FOLIO}`];
  return (text) =>
    repeated
      .reduce((rest, part) => rest.replaceAll(part, ''), text.replaceAll('\\', ''))
      .replace(/[0-9a-f-]{8,}|\d+/gi, '');
}

function mayPass(probe: Probe): boolean {
  return 'reply' in probe ? isBusy(probe.reply.status) : probe.failure.kind !== 'misconfigured';
}
