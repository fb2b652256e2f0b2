/** What an operation answers, before it becomes an HTTP reply. */
import type { Readable } from 'node:stream';

export interface Answer {
  readonly status: number;
  /** Goes out as JSON; a stream holds JSON already. */
  readonly body: { readonly response: object | null; readonly message: string } | Readable;
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number | undefined;
}

/** The reply shape of the interface, section 4: `response` and `message`. */
export function answer(response: object, message: string): Answer {
  return { status: 200, body: { response, message } };
}
