/** A request that the service refuses, thrown by routes and turned into a reply in one place. */

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
