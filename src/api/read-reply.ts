/**
 * Reads the body of a successful reply: small JSON as a value of a known shape, or a part as a stream. Both have a size
 * limit. The shapes require only the fields that are used (interface, section 2).
 */
import { type ZodType, z } from 'zod';
import { type ErrorFacts, UntrustedError } from '../errors.js';
import { type Base64Watch, decodeBase64Json } from '../streams/base64-json.js';
import { freeMemory } from '../streams/large-buffers.js';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Bytes } from '../types.js';
import type { DownloadRequest, FolioReport, UploadReceipt } from './prediction-api.js';
import type { HttpReply } from './send-request.js';

/**
 * Enough for a tracking reply with ten thousand segments. It bounds the memory that parsed JSON of any shape takes, and,
 * with the least rate of a reply, the time that a poll takes.
 */
const MAX_JSON_BYTES: Bytes = 1024 * 1024;

/** The most levels of a search's answer. */
const MAX_LEVELS = 64;

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
  const see = watch?.();
  let length = 0;
  const limits: Base64Watch = {
    onPiece: createFreeing(),
    onDecoded: (bytes) => {
      see?.(bytes);
      length += bytes.length;
      if (length > maxBytes) throw tooLargeError(maxBytes, facts);
    },
  };
  async function* content(): AsyncGenerator<Buffer> {
    try {
      for await (const bytes of decodeBase64Json(reply.body, CONTENT, limits)) yield bytes;
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
 * Frees the memory of each piece when the next one has arrived. Pieces that share their memory follow each other
 * directly, because they are from one read of the socket.
 */
function createFreeing(): (piece: Uint8Array) => void {
  let last: Uint8Array | undefined;
  return (piece) => {
    if (last !== undefined && last.buffer !== piece.buffer) freeMemory(last);
    last = piece;
  };
}

/** Whether a local service has answered: it marks each reply (rule "A rehearsal never looks real"). */
export function isOfLocalService({ header }: Pick<HttpReply, 'header'>): boolean {
  return header('foliopipe-service') === 'local';
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

function tooLargeError(maxBytes: Bytes, facts: ErrorFacts): UntrustedError {
  return new UntrustedError('PART_TOO_LARGE', `download: the part has more than ${maxBytes} bytes`, {
    hint: 'a valid part is never that large; ask the service provider about this folio',
    facts: { ...facts, maxBytes },
  });
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A whole number that JavaScript cannot hold exactly becomes a text: a folio with another digit is another folio. */
function parse(bytes: Buffer): unknown {
  try {
    const text = utf8.decode(bytes);
    const value: unknown = JSON.parse(text);
    return LONG_NUMBER.test(text) ? JSON.parse(text.replaceAll(TEXT_OR_NUMBER, exactly)) : value;
  } catch {
    throw new MalformedReplyError(
      bytes.length === 0 ? 'the reply is empty' : `the reply is not JSON: ${startOf(bytes)}`,
    );
  }
}

const LONG_NUMBER = /\d{16}/;
/** Only for valid JSON: in any other text, a search without a match may take long. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|[-\d][-+.\deE]*/g;

function exactly(token: string): string {
  const isRounded = /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token));
  return isRounded ? `"${token}"` : token;
}

/** The beginning of a reply, longer than the text that is shown, so that a token is still whole when it is replaced. */
function startOf(bytes: Buffer): string {
  return bytes.toString('utf8', 0, 4096);
}

/** A whole number, 0 or more, as a number or a text. */
export const count = z
  .union([z.number(), z.string().regex(/^\d{1,15}$/)], { error: 'expected a whole number from 0 on' })
  .transform(Number)
  .pipe(z.int().min(0));

/** A value that is no count is treated as missing. */
export const countOrNull = count.nullable().catch(null);

export const percentOrNull = z
  .union([z.number(), z.string().regex(/^-?\d{1,9}(\.\d+)?$/)])
  .transform((value) => Math.min(100, Math.max(0, Number(value))))
  .nullable()
  .catch(null);

/** The limit is longer than any text that foliopipe sends. Blank text counts as missing. */
export const textOrNull = z
  .string()
  .transform((text) => text.slice(0, 2_000).trim() || null)
  .nullable()
  .catch(null);

const upload = z.object({
  response: z.object({
    // Accepts any visible text: rejecting a folio for its form would lose a paid file.
    folio: z.union([z.string().regex(/^[\x21-\x7e]{1,200}$/), z.int().min(0).transform(String)], {
      error: 'expected a folio of 1 to 200 visible characters',
    }),
    totalRecords: countOrNull,
  }),
});

/** The reply of 4.1. */
export const uploadReply = upload.transform(({ response }): Omit<UploadReceipt, 'rehearsal'> => response);

const segment = z.object({ part: count, range: z.string().nullish().catch(null) });

const track = z.object({
  response: z.object({
    filename: textOrNull,
    description: textOrNull,
    records: countOrNull,
    progressInfo: z.object({
      status: z.string(),
      processedPercentage: percentOrNull,
      processedRecords: countOrNull,
      successfulRecords: count.nullish(),
      failedRecords: count.nullish(),
    }),
    segmentation: z.array(segment).nullish(),
    failedInfo: z.object({ part: count.catch(0) }).catch({ part: 0 }),
  }),
});

/** The reply of 4.2. Its status is as the service wrote it, so it is not yet safe to show. */
export const trackReply = track.transform(({ response }): Omit<FolioReport, 'rehearsal'> => {
  const { progressInfo, failedInfo } = response;
  const { successfulRecords: successful, failedRecords: failed } = progressInfo;
  const segments = new Map((response.segmentation ?? []).map(({ part, range }) => [part, range]));
  return {
    status: progressInfo.status,
    fileName: response.filename,
    description: response.description,
    records: response.records,
    percentage: progressInfo.processedPercentage,
    processed: progressInfo.processedRecords,
    counts: successful == null || failed == null ? null : { successful, failed },
    successfulParts: [...segments.keys()].sort((a, b) => a - b),
    listedRecords: sumOfRanges([...segments.values()]),
    failedPart: failedInfo.part,
  };
});

/** The reply of 4.4 is any JSON that can be shown: the functions that write JSON call themselves for each level. */
export const searchReply = z.unknown().refine((reply) => !isDeeper(reply, MAX_LEVELS), {
  error: `nested deeper than ${MAX_LEVELS} levels`,
});

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((one) => isDeeper(one, levels - 1));
}

/**
 * Ranges are `[<first>-<last>]`, 1-based; an empty range is `[0-0]`. A service that counts from 0 lists as many records.
 * @returns null if a range cannot be read.
 */
function sumOfRanges(ranges: readonly (string | null | undefined)[]): number | null {
  let sum = 0;
  for (const range of ranges) {
    const [, first, last] = /^\s*\[\s*(\d{1,15})\s*-\s*(\d{1,15})\s*\]\s*$/.exec(range ?? '') ?? [];
    if (first === undefined) return null;
    sum += Number(last) === 0 ? 0 : Math.max(0, Number(last) - Number(first) + 1);
  }
  return sum;
}
