/** The four operations over HTTP: the client of the service. */
import { setMaxListeners } from 'node:events';
import type { ErrorFacts } from '../errors.js';
import { formatDuration } from '../quantities.js';
import type { Milliseconds } from '../types.js';
import { statusFailure } from './error-reply.js';
import { AttemptError } from './failure.js';
import { type HttpClient, openHttpClient, type Proxies } from './http-client.js';
import type { PredictionApi } from './prediction-api.js';
import { RateLimiter, type RequestLimiter, type Written } from './rate-limiter.js';
import { isOfLocalService, readJson, readPart, searchReply, trackReply, uploadReply } from './read-reply.js';
import {
  createRequests,
  isPaid,
  type Operation,
  type RequestsOptions,
  searchAddressMissing,
} from './requests.js';
import { type ApiLogger, type ApiWatcher, type CallWaits, RetryLoop, type RetryTimes } from './retry-loop.js';
import { type HttpReply, type HttpRequest, isSuccess } from './send-request.js';
import { createServiceText, type ServiceText } from './service-text.js';
import { type AwakeClock, openAwakeClock, Timeout, withGrace } from './timeout.js';

export interface ApiOptions extends RequestsOptions {
  readonly requestsPerSecond: number;
  /** Replaces the default limiter, which allows `requestsPerSecond`. */
  readonly limiter?: RequestLimiter | undefined;
  readonly timeouts: {
    /** Longest time until a connection is open, including TLS. */
    readonly connect: Milliseconds;
    /**
     * Longest time without a byte from the service. Does not apply to an upload that waits for its reply. A GET's reply
     * that takes longer must bring 8 KB/s, on average over each such time.
     */
    readonly idle: Milliseconds;
    /** Longest time of a whole upload, including its reply. */
    readonly upload: Milliseconds;
    /** How long an upload in flight may go on after the call is aborted: it may already be paid for. */
    readonly shutdown: Milliseconds;
  };
  readonly retry: RetryTimes;
  /** How long the service must keep saying that it does not know a folio before the folio counts as lost. */
  readonly lostAfter: Milliseconds;
  readonly proxies?: Proxies | undefined;
  readonly logger: ApiLogger;
  /** Observes what the client waits for. */
  readonly watcher?: ApiWatcher | undefined;
}

/**
 * Opens the client. Sends nothing before the first call.
 * @throws ConfigError when an address is not valid, or is http:// to another machine.
 */
export function openPredictionApi(options: ApiOptions): PredictionApi {
  const { timeouts, logger } = options;
  const show = createServiceText(options.token);
  const requests = createRequests(options);
  const limiter: RequestLimiter = options.limiter ?? new RateLimiter(options.requestsPerSecond);
  const clock = openAwakeClock((gap) => {
    const time = formatDuration(gap);
    logger.warn(
      { gap: Math.round(gap) },
      `this process did not run for ${time}; no time-out counts this time`,
    );
  });
  const client = openHttpClient({
    connectTimeout: timeouts.connect,
    idleTimeout: timeouts.idle,
    clock,
    proxies: options.proxies ?? {},
    show,
  });
  const call = createCall(options, { limiter, clock, client, show });

  return {
    upload: async (upload, signal) =>
      call(
        'upload',
        requests.upload(upload),
        { fileName: upload.file.name },
        signal,
        async (reply) => ({
          ...(await readJson(reply.body, uploadReply)),
          rehearsal: isOfLocalService(reply),
        }),
        upload,
      ),

    track: async (folio, signal, until, begins) => {
      const read = async (reply: HttpReply) => {
        const report = await readJson(reply.body, trackReply);
        return { ...report, status: show(report.status), rehearsal: isOfLocalService(reply) };
      };
      return call('track', requests.track(folio), { folio }, signal, read, { until, begins });
    },

    download: async ({ folio, part, fileStatus, ...limits }, consume, signal, until) => {
      const facts = { folio, part, fileStatus };
      const read = (reply: HttpReply) => {
        const rehearsal = isOfLocalService(reply);
        return readPart(reply, (content) => consume(content, { rehearsal }), limits, facts);
      };
      return call('download', requests.download(folio, part, fileStatus), facts, signal, read, { until });
    },

    search: async (record, signal, waits) => {
      const request = requests.search(record);
      if (request === undefined) throw searchAddressMissing();
      const read = async (reply: HttpReply) => ({
        answer: await readJson(reply.body, searchReply),
        rehearsal: isOfLocalService(reply),
      });
      return call('search', request, {}, signal, read, waits);
    },

    ready: async (signal) => limiter.ready?.(signal),

    close: async () => {
      client.close();
      clock.close();
    },
  };
}

/** What all calls share. */
interface Shared {
  readonly limiter: RequestLimiter;
  readonly clock: AwakeClock;
  readonly client: HttpClient;
  readonly show: ServiceText;
}

/** Makes the function that runs an operation: each attempt sends the request and passes a success to `read`. */
function createCall(
  { timeouts, retry, lostAfter, logger, watcher }: ApiOptions,
  { limiter, clock, client, show }: Shared,
) {
  const loop = new RetryLoop({ limiter, retry, lostAfter, logger, watcher, show, clock });
  return <T>(
    operation: Operation,
    request: HttpRequest,
    facts: ErrorFacts,
    signal: AbortSignal,
    read: (reply: HttpReply) => Promise<T>,
    waits: CallWaits = {},
  ): Promise<T> => {
    // Avoids a warning: every call in flight, and everything it waits for, listens to the same signal.
    setMaxListeners(0, signal);
    const attempt = async (
      attemptSignal: AbortSignal,
      written: Written,
      begun: () => void = () => undefined,
    ): Promise<T> => {
      let refusal: { readonly error: unknown } | undefined;
      const begins = async () => {
        await written();
        try {
          waits.begins?.();
        } catch (error) {
          refusal = { error };
          throw error;
        }
        begun();
      };
      const reply = await client.send(request, attemptSignal, begins).catch((error: unknown) => {
        throw refusal === undefined ? error : refusal.error;
      });
      if (!isSuccess(reply.status)) {
        throw new AttemptError(await statusFailure(reply, request.url, show));
      }
      return read(reply);
    };
    const once = isPaid(operation)
      ? (written: Written) =>
          withDeadline({ time: timeouts.upload, grace: timeouts.shutdown, clock }, signal, (one, begun) =>
            attempt(one, written, begun),
          )
      : (written: Written) => attempt(signal, written);
    const { method, url } = request;
    const described = {
      operation,
      path: url.pathname,
      get request() {
        return show(`${method} ${url.origin}${url.pathname}`);
      },
      facts,
    };
    return loop.run(described, once, signal, waits);
  };
}

interface PaidTimes {
  readonly time: Milliseconds;
  readonly grace: Milliseconds;
  readonly clock: AwakeClock;
}

/** Runs paid work as `withGrace` does, and aborts it after `time` too. */
function withDeadline<T>(
  { time, ...times }: PaidTimes,
  signal: AbortSignal,
  work: (signal: AbortSignal, begun: () => void) => Promise<T>,
): Promise<T> {
  return withGrace(times, signal, (own, begun) => {
    const deadline = new Timeout(times.clock);
    deadline.begin(time, () => {
      const error = new Error(`not done after ${formatDuration(time)}`);
      own.abort(Object.assign(error, { code: 'TIMEOUT' }));
    });
    return work(own.signal, begun).finally(() => deadline.end());
  });
}
