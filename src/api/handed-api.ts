/**
 * A client of the service that a program hands in. What it gives is checked as the service's replies are, so that a
 * mistake in it loses no folio and pays for no file twice.
 */
import { type ZodType, z } from 'zod';
import type { ErrorFacts, FoliopipeError } from '../errors.js';
import { abortable } from '../streams/abortable.js';
import type { Milliseconds } from '../types.js';
import type { Failure } from './failure.js';
import { finalError } from './final-error.js';
import type { DownloadRequest, PartReply, PredictionApi } from './prediction-api.js';
import { count, countOrNull, percentOrNull, searchReply, textOrNull } from './read-reply.js';
import { isPaid, type Operation } from './requests.js';
import { type AwakeClock, withGrace } from './timeout.js';

/**
 * The same client with checked replies.
 * @param grace how long a paid request that may have been sent goes on after its call is aborted.
 */
export function checkedApi(api: PredictionApi, grace: Milliseconds): PredictionApi {
  return {
    upload: async (request, signal) => {
      const asked: Asked = { operation: 'upload', facts: { fileName: request.file.name } };
      const given = await untilStopped(asked, signal, grace, (own, begun) => {
        const open = () => {
          own.throwIfAborted();
          begun();
          return request.file.open();
        };
        return api.upload({ ...request, file: { ...request.file, open } }, own);
      });
      return checked(asked, receipt, given);
    },

    track: async (folio, signal, until, begins) => {
      const asked: Asked = { operation: 'track', facts: { folio } };
      const track = (own: AbortSignal) => api.track(folio, own, until, begins);
      return checked(asked, report, await untilStopped(asked, signal, grace, track));
    },

    download: async <T>(
      request: DownloadRequest,
      consume: (content: AsyncIterable<Buffer>, reply: PartReply) => Promise<T>,
      signal: AbortSignal,
      until?: AbortSignal,
    ) => {
      const { folio, part, fileStatus } = request;
      const asked: Asked = { operation: 'download', facts: { folio, part, fileStatus } };
      let read: { readonly result: T } | undefined;
      let consumed: Promise<unknown> = Promise.resolve();
      const use: typeof consume = async (content, reply) => {
        signal.throwIfAborted();
        read = undefined;
        const pieces = abortable(piecesOf(asked, content), signal);
        const using = consume(pieces, checked(asked, partReply, reply ?? {}));
        consumed = using.catch(() => undefined);
        const result = await using;
        read = { result };
        return result;
      };
      const download = (own: AbortSignal) => api.download(request, use, own, until);
      // The caller may give the folio up next, so nothing of the part is written after a stop.
      await untilStopped(asked, signal, grace, download).finally(() => signal.aborted && consumed);
      if (read === undefined) throw wrongError(asked, 'it passes no whole part to consume');
      return read.result;
    },

    search: async (record, signal, waits) => {
      const asked: Asked = { operation: 'search', facts: {} };
      const search = (own: AbortSignal, begun: () => void) => {
        begun();
        return api.search(record, own, waits);
      };
      return checked(asked, searched, await untilStopped(asked, signal, grace, search));
    },

    ready: async (signal) => api.ready?.(signal),
    close: () => api.close(),
  };
}

/** What the client was asked for. */
interface Asked {
  readonly operation: Operation;
  readonly facts: ErrorFacts;
}

const CLOCK: AwakeClock = { now: () => performance.now() };

/**
 * Sends a request with `withGrace`, and ends with its signal although the client may not listen to it.
 * @param send calls `begun` when the request may be sent and is paid for. A client may obey its signal in the middle of
 *   a request, as `fetch` does.
 * @throws AmbiguousUploadError when a request that has begun has no reply in the grace.
 */
async function untilStopped<T>(
  asked: Asked,
  signal: AbortSignal,
  grace: Milliseconds,
  send: (own: AbortSignal, begun: () => void) => Promise<T>,
): Promise<T> {
  let isBegun = false;
  return withGrace({ grace, clock: CLOCK }, signal, async ({ signal: own }, begun) => {
    const stopped = new Promise<never>((_, reject) => {
      own.addEventListener('abort', () => reject(own.reason));
    });
    const sent = send(own, () => {
      isBegun = true;
      begun();
    });
    try {
      return await Promise.race([sent, stopped]);
    } catch (error) {
      if (!own.aborted || error !== own.reason || !isBegun) throw error;
      const message = 'the client of the program has no reply, and its time is over';
      throw errorOf(asked, { kind: 'cut', code: 'ABORTED', message });
    }
  });
}

/** @throws AmbiguousUploadError for a reply to a paid request that does not fit, else BrokenReplyError. */
function checked<T>(asked: Asked, schema: ZodType<T>, given: unknown): T {
  const { success, data, error } = schema.safeParse(given);
  if (success) return data;
  const [issue] = error.issues;
  throw wrongError(asked, `${issue?.path.map(String).join('.') || 'the reply'}: ${issue?.message}`);
}

async function* piecesOf(asked: Asked, content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const piece of content) {
    if (!ArrayBuffer.isView(piece)) throw wrongError(asked, `a piece of a part is a ${typeof piece}`);
    yield piece;
  }
}

function wrongError(asked: Asked, what: string): FoliopipeError {
  const message = `the client of the program (api) gives what its type does not allow: ${what}`;
  return errorOf(asked, { kind: 'malformed', message, breach: what });
}

function errorOf({ operation, facts }: Asked, failure: Failure): FoliopipeError {
  const ending = failure.kind === 'cut' ? 'no-reply' : isPaid(operation) ? 'unreadable' : 'broken';
  const call = `api.${operation}`;
  return finalError(ending, failure, { operation, path: call, request: call, facts });
}

/** A reply without it does not say that it comes from a local service. */
const rehearsal = z.boolean().default(false);

const receipt = z.object({
  folio: z.union([z.string().min(1), z.int().transform(String)], { error: 'expected a folio, a text' }),
  totalRecords: countOrNull,
  rehearsal,
});

const report = z.object({
  status: z.string(),
  fileName: textOrNull,
  description: textOrNull,
  records: countOrNull,
  percentage: percentOrNull,
  processed: countOrNull,
  counts: z.object({ successful: count, failed: count }).nullable().default(null),
  successfulParts: z.array(count).transform((parts) => [...new Set(parts)].sort((a, b) => a - b)),
  listedRecords: countOrNull,
  failedPart: count.default(0),
  rehearsal,
});

const partReply = z.object({ rehearsal });

const searched = z.object({ answer: searchReply, rehearsal });
