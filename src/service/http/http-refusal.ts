/** The error for a request that the service refuses. Operations throw it; `refusalAnswer` turns it into an answer. */
import type { Answer } from './answer.js';

interface RefusalDetails {
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/** `status` is the HTTP status, 4xx; `message` is sent to the client. */
export class HttpRefusal extends Error {
  readonly status: number;
  readonly retryAfter: number | undefined;

  constructor(status: number, message: string, details: RefusalDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'HttpRefusal';
    this.status = status;
    this.retryAfter = details.retryAfter;
  }
}

/**
 * The answer for an error of an operation. A refusal keeps its status, and so does a 4xx of the framework (broken JSON,
 * not multipart). Any other error becomes a 500, which does not tell the client the cause.
 */
export function refusalAnswer(error: unknown): Answer {
  if (error instanceof HttpRefusal) {
    return { ...refused(error.status, error.message), retryAfter: error.retryAfter };
  }
  const status = frameworkStatus(error);
  return status === undefined
    ? refused(500, 'the service met an unexpected error')
    : refused(status, (error as Error).message);
}

function refused(status: number, message: string): Answer {
  return { status, body: { message, response: null } };
}

function frameworkStatus(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('statusCode' in error)) return undefined;
  const status = error.statusCode;
  return typeof status === 'number' && status >= 400 && status < 500 ? status : undefined;
}
