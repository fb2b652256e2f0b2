/**
 * A client of the service that a program hands in. What it gives is checked as the service's replies are, so that a
 * mistake in it loses no folio and pays for no file twice.
 */
import { type ZodType, z } from 'zod';
import type { ErrorFacts, FoliopipeError } from '../errors.js';
import type { Failure } from './failure.js';
import { finalError } from './final-error.js';
import type { DownloadRequest, PartReply, PredictionApi } from './prediction-api.js';
import { count, countOrNull, percentOrNull, textOrNull } from './read-reply.js';
import { isPaid, type Operation } from './requests.js';

/** The same client with checked replies. */
export function checkedApi(api: PredictionApi): PredictionApi {
  return {
    upload: async (request, signal) => {
      const asked: Asked = { operation: 'upload', facts: { fileName: request.file.name } };
      let isRead = false;
      const open = () => {
        isRead = true;
        return request.file.open();
      };
      const sent = api.upload({ ...request, file: { ...request.file, open } }, signal);
      return checked(asked, receipt, await withDoubt(asked, signal, () => isRead, sent));
    },

    track: async (folio, signal, until, begins) => {
      const given = await api.track(folio, signal, until, begins);
      return checked({ operation: 'track', facts: { folio } }, report, given);
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
      const use: typeof consume = async (content, reply) => {
        read = undefined;
        const result = await consume(piecesOf(asked, content), checked(asked, partReply, reply ?? {}));
        read = { result };
        return result;
      };
      await api.download(request, use, signal, until);
      if (read === undefined) throw wrongError(asked, 'it passes no whole part to consume');
      return read.result;
    },

    search: async (record, signal, waits) => {
      const asked: Asked = { operation: 'search', facts: {} };
      const sent = api.search(record, signal, waits);
      return checked(asked, searchReply, await withDoubt(asked, signal, () => true, sent));
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

/**
 * A client may obey the signal in the middle of a paid request, as `fetch` does. Then it is unknown whether the service
 * has accepted it.
 */
async function withDoubt<T>(
  asked: Asked,
  signal: AbortSignal,
  mayBeSent: () => boolean,
  sent: Promise<T>,
): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    if (!signal.aborted || error !== signal.reason || !mayBeSent()) throw error;
    const message = 'the client of the program has ended the request when its signal was aborted';
    throw errorOf(asked, { kind: 'cut', code: 'ABORTED', message });
  }
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

const searchReply = z.object({ answer: z.unknown(), rehearsal });
