/** What an operation answers, before it becomes an HTTP reply. */
import type { DownloadBody } from './base64-json.js';

export interface JsonBody {
  readonly response: object | null;
  readonly message: string;
}

export interface Answer {
  readonly status: number;
  /** Goes out as JSON; a text goes out as an HTML page. */
  readonly body: JsonBody | DownloadBody | string;
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number | undefined;
  /** Leaves out that a local service answers, as a fault. */
  readonly foreign?: boolean | undefined;
}

/** The reply shape of the interface, section 4: `response` and `message`. */
export function answer(response: object, message: string): Answer {
  return { status: 200, body: { response, message } };
}

/** Whether the answer carries a part. */
export function isDownload(body: Answer['body']): body is DownloadBody {
  return typeof body === 'object' && 'content' in body;
}
