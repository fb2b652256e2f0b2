/** Reads a reply that is small JSON; how much is read is bounded (law 10). */
import type { ZodType } from 'zod';
import { MalformedReplyError } from '../streams/malformed-reply-error.js';
import type { Bytes } from '../types.js';

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
