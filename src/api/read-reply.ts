/** Turns a reply whose status is no success into a failure, with what the service says in its body. */
import { type ZodType, z } from 'zod';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Bytes, Milliseconds } from '../types.js';
import type { Failure } from './failure.js';
import type { FolioReport, UploadReceipt } from './prediction-api.js';
import type { HttpReply } from './send-request.js';
import type { ServiceText } from './service-text.js';

const MAX_ERROR_BYTES = 64 * 1024;

/** Error replies may have any body or a broken one: whatever is in it, the status decides. */
export async function statusFailure(reply: HttpReply, requested: URL, show: ServiceText): Promise<Failure> {
  const { status } = reply;
  const target =
    status >= 300 && status <= 399 ? redirectOrigin(reply.header('location'), requested) : undefined;
  const body = target === undefined ? await readBody(reply) : '';
  const said = asObject(body);
  const isThrottle = status === 429 || status === 503;
  return {
    kind: 'status',
    status,
    retryAfter: isThrottle ? parseRetryAfter(reply.header('retry-after'), Date.now()) : null,
    fromService: said !== undefined && ('message' in said || 'response' in said),
    message: show(target === undefined ? messageOf(said, body) : `it redirects to ${target}`),
  };
}

/** Only the origin: the rest of the address may repeat our query, and the token in it. */
function redirectOrigin(location: string | undefined, requested: URL): string {
  if (location === undefined || !URL.canParse(location, requested.href)) return 'an address that is none';
  return new URL(location, requested).origin;
}

async function readBody(reply: HttpReply): Promise<string> {
  try {
    const { bytes } = await readBytes(reply.body, MAX_ERROR_BYTES);
    return bytes.toString('utf8');
  } catch {
    return '';
  } finally {
    reply.discard();
  }
}

/** Undefined where the text is no JSON object: a proxy's page, most of the time. */
function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The `message` (or `error`) of a JSON object, else the text without its tags. */
function messageOf(said: Record<string, unknown> | undefined, text: string): string {
  if (typeof said?.message === 'string') return said.message;
  if (typeof said?.error === 'string') return said.error;
  return text.replace(/<(style|script)\b[\s\S]*?<\/\1>|<[^>]*>/gi, ' ');
}

// Reads the Retry-After header (RFC 9110, section 10.2.3).

/**
 * @param value the header: seconds, or an HTTP date.
 * @param now epoch milliseconds.
 * @returns the time to wait, or null where the header is missing or says nothing.
 */
export function parseRetryAfter(value: string | undefined, now: number): Milliseconds | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    return Number(text) * 1000;
  }
  const date = /^[A-Z][a-z]+, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

// Reads a reply that is small JSON; how much is read is bounded (law 10).

/** A tracking reply may list tens of thousands of segments and still fits. */
const MAX_JSON_BYTES: Bytes = 8 * 1024 * 1024;

/**
 * The value of the body by `schema`. A byte order mark and white space before the JSON are skipped.
 * @throws MalformedReplyError when the body is too large, no UTF-8, no JSON or of another shape.
 */
export async function readJson<T>(body: AsyncIterable<Buffer>, schema: ZodType<T>): Promise<T> {
  const { bytes, isWhole } = await readBytes(body, MAX_JSON_BYTES);
  if (!isWhole) throw new MalformedReplyError(`the reply is larger than ${MAX_JSON_BYTES} bytes`);
  const checked = schema.safeParse(parse(bytes));
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const where = issue?.path.map(String).join('.') || 'the reply';
  throw new MalformedReplyError(`${where}: ${issue?.message}, in the reply: ${startOf(bytes)}`);
}

/** Reads a body, but no more than about `maxBytes` of it. */
async function readBytes(
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

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new MalformedReplyError(
      bytes.length === 0 ? 'the reply is empty' : `the reply is not JSON: ${startOf(bytes)}`,
    );
  }
}

/** More than is ever shown: what hides the token must find it whole. */
function startOf(bytes: Buffer): string {
  return bytes.toString('utf8', 0, 4096);
}

// What is required of the service's replies (interface, section 2): no more than what is used.

/** A whole number from 0 on, also as text. */
const count = z
  .union([z.number(), z.string().regex(/^\d{1,15}$/)], { error: 'expected a whole number from 0 on' })
  .transform(Number)
  .pipe(z.int().min(0));

/** Where a strange value is as good as none. */
const countOrNull = count.nullable().catch(null);

const percentOrNull = z
  .union([z.number(), z.string().regex(/^-?\d{1,9}(\.\d+)?$/)])
  .transform((value) => Math.min(100, Math.max(0, Number(value))))
  .nullable()
  .catch(null);

/** Longer than any text that we send. Nothing but blanks is as good as none. */
const textOrNull = z
  .string()
  .transform((text) => text.slice(0, 2_000).trim() || null)
  .nullable()
  .catch(null);

const upload = z.object({
  response: z.object({
    // Any visible text: a folio turned away for its look would be a paid file thrown away.
    folio: z.union([z.string().regex(/^[\x21-\x7e]{1,200}$/), z.int().min(0).transform(String)], {
      error: 'expected a folio of 1 to 200 visible characters',
    }),
    totalRecords: countOrNull,
  }),
});

/** The reply of 4.1. */
export const uploadReply = upload.transform(
  ({ response }): Omit<UploadReceipt, 'rehearsal'> => ({
    folio: response.folio,
    totalRecords: response.totalRecords,
  }),
);

const segment = z.object({ part: count, range: z.unknown().optional() });

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

/** The reply of 4.2. The status is still as the service wrote it. */
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

/** The reply of 4.4 is any JSON. */
export const searchReply = z.unknown();

/** Ranges are `[<first>-<last>]`, 1-based; an empty one is `[0-0]`. */
function sumOfRanges(ranges: readonly unknown[]): number | null {
  let sum = 0;
  for (const range of ranges) {
    const [, first, last] = /^\s*\[\s*(\d{1,15})\s*-\s*(\d{1,15})\s*\]\s*$/.exec(String(range)) ?? [];
    if (first === undefined || last === undefined) return null;
    sum += first === '0' ? 0 : Math.max(0, Number(last) - Number(first) + 1);
  }
  return sum;
}
