/** The four operations over HTTP: the only place where the network is reached. */
import { setMaxListeners } from 'node:events';
import { ConfigError, type ErrorFacts } from '../errors.js';
import type { Milliseconds } from '../types.js';
import { consumePart } from './consume-part.js';
import { AttemptError, type Operation } from './failure.js';
import { openHttpClient, type Proxies } from './http-client.js';
import type { PredictionApi } from './prediction-api.js';
import { RequestGate } from './rate-limiter.js';
import { readJson, searchReply, statusFailure, trackReply, uploadReply } from './read-reply.js';
import { createRequests } from './requests.js';
import { type ApiLogger, RetryLoop, type RetryTimes } from './retry-loop.js';
import type { HttpReply, HttpRequest } from './send-request.js';
import { createServiceText, type TokenSecret } from './service-text.js';

export interface ApiOptions {
  readonly baseUrl: string;
  /** Needed by `search` only. */
  readonly legacyBaseUrl: string | null;
  readonly token: TokenSecret;
  /** Where the two GETs carry the token; the two POSTs have it in their body (interface, 4.1 and 4.4). */
  readonly tokenIn: 'query' | 'header';
  readonly requestsPerSecond: number;
  readonly timeouts: {
    /** Until a connection stands, TLS included. */
    readonly connect: Milliseconds;
    /** Without a byte from the service. Does not cut an upload that waits for its reply: that costs money. */
    readonly idle: Milliseconds;
    /** For a whole upload, its reply included. */
    readonly upload: Milliseconds;
    /** What an upload in flight is left when the call is aborted: it may be paid for already. */
    readonly shutdown: Milliseconds;
  };
  readonly retry: RetryTimes;
  /** How long the service must keep saying that it does not know a folio before that is believed. */
  readonly lostAfter: Milliseconds;
  readonly proxies?: Proxies | undefined;
  readonly logger: ApiLogger;
}

/**
 * Opens the client; nothing is sent before the first call.
 * @throws ConfigError when an address is none, or http:// and not on this machine.
 */
export function openPredictionApi(options: ApiOptions): PredictionApi {
  const { timeouts, retry, lostAfter, logger } = options;
  const show = createServiceText(options.token);
  const requests = createRequests(options);
  const gate = new RequestGate(options.requestsPerSecond);
  const loop = new RetryLoop({ gate, retry, lostAfter, logger, show });
  const client = openHttpClient({
    connectTimeout: timeouts.connect,
    idleTimeout: timeouts.idle,
    proxies: options.proxies ?? {},
    show,
  });

  /** Makes attempts at an operation: each sends the request and hands a reply of success to `read`. */
  const call = <T>(
    operation: Operation,
    request: HttpRequest,
    facts: ErrorFacts,
    signal: AbortSignal,
    read: (reply: HttpReply) => Promise<T>,
    until?: AbortSignal,
  ): Promise<T> => {
    // Every call in flight and everything it waits for listens to the same signal.
    setMaxListeners(0, signal);
    const attempt = async (attemptSignal: AbortSignal): Promise<T> => {
      const reply = await client.send(request, attemptSignal);
      if (reply.status < 200 || reply.status > 299) {
        throw new AttemptError(await statusFailure(reply, request.url, show));
      }
      return read(reply);
    };
    const isPaid = operation === 'upload' || operation === 'search';
    const once = isPaid
      ? () => withDeadline({ time: timeouts.upload, grace: timeouts.shutdown }, signal, attempt)
      : () => attempt(signal);
    const { origin, pathname } = request.url;
    const address = show(`${request.method} ${origin}${pathname}`);
    return loop.run({ operation, path: pathname, request: address, facts }, once, signal, until);
  };

  return {
    upload: async (upload, signal) =>
      call('upload', requests.upload(upload), { fileName: upload.file.name }, signal, async (reply) => ({
        ...(await readJson(reply.body, uploadReply)),
        rehearsal: isRehearsal(reply),
      })),

    track: async (folio, signal, until) => {
      const read = async (reply: HttpReply) => {
        const report = await readJson(reply.body, trackReply);
        return { ...report, status: show(report.status), rehearsal: isRehearsal(reply) };
      };
      return call('track', requests.track(folio), { folio }, signal, read, until);
    },

    download: async ({ folio, part, fileStatus, maxBytes }, consume, signal, until) => {
      const facts = { folio, part, fileStatus };
      const read = (reply: HttpReply) => {
        const rehearsal = isRehearsal(reply);
        return consumePart(reply, (content) => consume(content, { rehearsal }), maxBytes, facts);
      };
      return call('download', requests.download(folio, part, fileStatus), facts, signal, read, until);
    },

    search: async (record, signal) => {
      const request = requests.search(record);
      if (request === undefined) {
        throw new ConfigError('CONFIG_LEGACY_URL', 'the search has no address', {
          hint: 'set service.legacyBaseUrl',
        });
      }
      return call('search', request, {}, signal, (reply) => readJson(reply.body, searchReply));
    },

    close: async () => client.close(),
  };
}

/** Law 11: a local service says in each reply what it is. */
function isRehearsal(reply: HttpReply): boolean {
  return reply.header('foliopipe-service') === 'local';
}

/** A signal for work that is paid for: it ends after a time, and follows another signal only after a grace. */
export interface DeadlineTimes {
  /** For the whole of the work. */
  readonly time: Milliseconds;
  /** What is left to work that has begun when the other signal aborts. */
  readonly grace: Milliseconds;
}

/**
 * Runs `work` under such a signal; timers and listener are gone when it has ended.
 * @throws the signal's reason when that is aborted already: nothing begins then.
 */
async function withDeadline<T>(
  { time, grace }: DeadlineTimes,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const controller = new AbortController();
  const timers = [
    setTimeout(() => {
      controller.abort(Object.assign(new Error(`not done after ${time} ms`), { code: 'TIMEOUT' }));
    }, time),
  ];
  const forward = (): void => {
    timers.push(setTimeout(() => controller.abort(signal.reason), grace));
  };
  signal.addEventListener('abort', forward, { once: true });
  try {
    return await work(controller.signal);
  } finally {
    timers.forEach(clearTimeout);
    signal.removeEventListener('abort', forward);
  }
}
