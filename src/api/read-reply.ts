/** Reads the body of a successful reply: small JSON as a value, or a part as a stream. Both have a size limit. */
import type { ZodType } from 'zod';
import { type ErrorFacts, UntrustedError } from '../errors.js';
import { decodeBase64Json } from '../streams/base64-json.js';
import { freeMemory } from '../streams/buffer-pool.js';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Bytes } from '../types.js';
import type { DownloadRequest } from './prediction-api.js';
import type { HttpReply } from './send-request.js';

/**
 * Enough for a tracking reply with ten thousand segments. It bounds the memory that parsed JSON of any shape takes, and,
 * with the least rate of a reply, the time that a poll takes.
 */
const MAX_JSON_BYTES: Bytes = 1024 * 1024;

/** The path of a part's content in its reply (interface, 2.1), and the size limit of the rest of the reply. */
const CONTENT = { path: ['response', 'content'], maxOtherBytes: 1024 * 1024 };

/**
 * Reads the body as JSON and checks it with `schema`. Skips a byte order mark and white space before the JSON.
 * @throws MalformedReplyError when the body is too large, not UTF-8, not JSON or of another shape.
 */
export async function readJson<T>(body: AsyncIterable<Buffer>, schema: ZodType<T>): Promise<T> {
  const { bytes, isWhole } = await readBytes(body, MAX_JSON_BYTES);
  if (!isWhole) throw new MalformedReplyError(`the reply is larger than ${MAX_JSON_BYTES} bytes`);
  const value = parse(bytes);
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const where = issue?.path.map(String).join('.') || 'the reply';
  const breach = `${where}: ${issue?.message}`;
  throw new MalformedReplyError(
    `${breach}, in the reply: ${startOf(bytes)}`,
    isOfInterface(value) ? breach : null,
  );
}

/** Whether the service itself has written the reply: a proxy's JSON has no `response` (interface, section 4). */
function isOfInterface(value: unknown): boolean {
  const response = typeof value === 'object' && value !== null && 'response' in value && value.response;
  return typeof response === 'object' && response !== null;
}

/**
 * Passes the decoded bytes of a part to `consume` while they arrive, and returns its result. If the body fails, throws
 * the error of the body, even if `consume` hides it or throws another one.
 * @throws AttemptError, MalformedReplyError from the body; UntrustedError when more than `maxBytes` arrive; the errors
 *   of `consume`.
 */
export async function readPart<T>(
  reply: HttpReply,
  consume: (content: AsyncIterable<Buffer>) => Promise<T>,
  { maxBytes, watch }: Pick<DownloadRequest, 'maxBytes' | 'watch'>,
  facts: ErrorFacts,
): Promise<T> {
  let bodyError: unknown;
  async function* content(): AsyncGenerator<Buffer> {
    try {
      yield* atMost(maxBytes, decodeBase64Json(freedPieces(reply.body), CONTENT, watch?.()), facts);
    } catch (error) {
      bodyError = error;
      throw error;
    }
  }
  let result: T;
  try {
    result = await consume(content());
  } catch (error) {
    throw bodyError ?? error;
  } finally {
    reply.discard();
  }
  if (bodyError !== undefined) throw bodyError;
  return result;
}

/**
 * Frees the memory of each piece after its last use. Pieces that share their memory come one right after the other: they
 * are of one read from the socket.
 */
async function* freedPieces(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let last: Buffer | undefined;
  for await (const piece of body) {
    if (last !== undefined && last.buffer !== piece.buffer) freeMemory(last);
    last = piece;
    yield piece;
  }
}

/** Reads a body until its end, or until more than `maxBytes` have arrived. */
export async function readBytes(
  body: AsyncIterable<Buffer>,
  maxBytes: Bytes,
): Promise<{ bytes: Buffer; isWhole: boolean }> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > maxBytes) return { bytes: Buffer.concat(pieces), isWhole: false };
  }
  return { bytes: Buffer.concat(pieces), isWhole: true };
}

async function* atMost(
  maxBytes: Bytes,
  content: AsyncIterable<Buffer>,
  facts: ErrorFacts,
): AsyncGenerator<Buffer> {
  let length = 0;
  for await (const bytes of content) {
    length += bytes.length;
    if (length > maxBytes) {
      throw new UntrustedError('PART_TOO_LARGE', `download: the part has more than ${maxBytes} bytes`, {
        hint: 'a valid part is never that large; ask the service provider about this folio',
        facts: { ...facts, maxBytes },
      });
    }
    yield bytes;
  }
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new MalformedReplyError(
      bytes.length === 0 ? 'the reply is empty' : `the reply is not JSON: ${startOf(bytes)}`,
    );
  }
}

/** The beginning of a reply, longer than the text that is shown, so that a token is still whole when it is replaced. */
function startOf(bytes: Buffer): string {
  return bytes.toString('utf8', 0, 4096);
}
