/** The four operations over HTTP: the only place where the network is reached. */
import { setMaxListeners } from 'node:events';
import { ConfigError, type ErrorFacts } from '../errors/index.js';
import type { Milliseconds } from '../types.js';
import type { ApiLogger } from './api-logger.js';
import { consumePart } from './consume-part.js';
import { AttemptError, type Operation } from './failure.js';
import { openHttpClient } from './http-client.js';
import type { PredictionApi } from './prediction-api.js';
import type { Proxies } from './proxies.js';
import { readJson } from './read-json.js';
import { searchReply, trackReply, uploadReply } from './reply-schemas.js';
import { RequestGate } from './request-gate.js';
import { createRequests } from './requests.js';
import { RetryLoop, type RetryTimes } from './retry-loop.js';
import type { HttpReply, HttpRequest } from './send-request.js';
import { createServiceText, type TokenSecret } from './service-text.js';
import { statusFailure } from './status-failure.js';
import { withDeadline } from './with-deadline.js';

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
      call('upload', requests.upload(upload), { fileName: upload.fileName }, signal, async (reply) => ({
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
