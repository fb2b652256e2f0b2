/** Turns a reply whose status is not a success into a failure, with the message from its body. */
import type { Milliseconds } from '../types.js';
import { type Failure, isRedirect, isThrottle } from './failure.js';
import { readBytes } from './read-reply.js';
import type { HttpReply } from './send-request.js';
import type { ServiceText } from './service-text.js';

const MAX_ERROR_BYTES = 64 * 1024;

/** The failure for a reply that is no success. Only the status decides: the body may be anything, or cut. */
export async function statusFailure(reply: HttpReply, requested: URL, show: ServiceText): Promise<Failure> {
  const { status } = reply;
  const body = isRedirect(status) ? '' : await readText(reply);
  reply.discard();
  const json = asObject(body);
  const message = isRedirect(status)
    ? `it redirects to ${redirectOrigin(reply.header('location'), requested)}`
    : messageOf(json, body);
  return {
    kind: 'status',
    status,
    retryAfter: isThrottle(status) ? retryAfterOf(reply) : null,
    fromService: json !== undefined && ('message' in json || 'response' in json),
    message: show(message),
  };
}

/** How long a reply asks to wait. A date in it follows the sender's clock, which may be hours off. */
export function retryAfterOf({ header }: Pick<HttpReply, 'header'>): Milliseconds | null {
  const sentAt = Date.parse(header('date') ?? '');
  return parseRetryAfter(header('retry-after'), Number.isNaN(sentAt) ? Date.now() : sentAt);
}

/**
 * Reads the Retry-After header (RFC 9110, section 10.2.3).
 * @param value the header: seconds, or an HTTP date.
 * @param now epoch milliseconds, by the clock that the date follows.
 * @returns the time to wait, or null if the header is missing or cannot be read.
 */
export function parseRetryAfter(value: string | undefined, now: number): Milliseconds | null {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, Number.MAX_SAFE_INTEGER);
  const date = /^[A-Z][a-z]+, .+ GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** Only the origin: the rest of the address may repeat our query, which holds the token. */
export function redirectOrigin(location: string | undefined, requested: URL): string {
  if (location === undefined || !URL.canParse(location, requested.href)) return 'no valid address';
  return new URL(location, requested).origin;
}

async function readText(reply: HttpReply): Promise<string> {
  try {
    const { bytes } = await readBytes(reply.body, MAX_ERROR_BYTES);
    return bytes.toString('utf8');
  } catch {
    return '';
  }
}

/** Undefined if the text is not a JSON object, such as a proxy's HTML page. */
function asObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The `message` (or `error`) of a JSON object, otherwise the text without its tags. */
function messageOf(json: Record<string, unknown> | undefined, text: string): string {
  if (typeof json?.message === 'string') return json.message;
  if (typeof json?.error === 'string') return json.error;
  return visibleText(text);
}

/**
 * The text of a web page without its tags; its head only if the body says nothing. Any other text is returned as it is.
 */
export function visibleText(text: string): string {
  const withoutTags = (html: string) => html.replace(/<(style|script)\b[\s\S]*?<\/\1>|<[^>]*>/gi, ' ');
  const body = withoutTags(text.replace(/<head\b[\s\S]*?<\/head>/i, ' '));
  return body.trim() === '' ? withoutTags(text) : body;
}
