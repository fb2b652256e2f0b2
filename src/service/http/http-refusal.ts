/** A request that the service refuses, thrown by routes and turned into a reply in one place. */
import type { Answer } from './answer.js';

export interface RefusalDetails {
  /** Seconds, sent as `Retry-After`. */
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/** `message` is told to the client; `status` is the HTTP status, 4xx. */
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

// Turns whatever an operation threw into an answer; nothing of our inside reaches the client.

/** A refusal keeps its status; a 4xx of the framework (broken JSON, no multipart) too; anything else is a 500. */
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
