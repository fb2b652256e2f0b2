/** Turns a reply whose status is no success into a failure, with what the service says in its body. */
import type { Failure } from './failure.js';
import { readBytes } from './read-json.js';
import { parseRetryAfter } from './retry-after.js';
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
