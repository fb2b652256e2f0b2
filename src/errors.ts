/**
 * The errors that foliopipe throws on purpose. Each one says what happened, where, and what to do next; its class gives
 * the exit code.
 */
import { thrownText } from './text.js';
import type { Doubt } from './types.js';

/** Facts of an error as fields: file, record, line, chunk, folio. They are shown to people and are never secret. */
export type ErrorFacts = Readonly<Record<string, string | number | boolean | null>>;

/** What an error says besides its message. */
export interface ErrorDetails {
  /** What the user types or changes next. */
  readonly hint?: string;
  readonly facts?: ErrorFacts;
  readonly cause?: unknown;
}

/** The base class of all these errors. */
export abstract class FoliopipeError extends Error {
  /** The exit code of the process (README.md). */
  abstract readonly exitCode: number;
  /** Stable identifier such as `SOURCE_QUOTE_NOT_CLOSED`. */
  readonly code: string;
  readonly hint: string | undefined;
  readonly facts: ErrorFacts;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.hint = details.hint;
    this.facts = details.facts ?? {};
  }

  /** For `JSON.stringify`, which leaves out the message of other errors. It has neither stack nor cause. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}

/** The same error with another message, hint or both. */
export function reworded<Known extends FoliopipeError>(
  error: Known,
  words: { readonly message?: string; readonly hint?: string | undefined },
): Known {
  const copy = Object.create(Object.getPrototypeOf(error), Object.getOwnPropertyDescriptors(error)) as Known;
  for (const [key, value] of Object.entries(words)) {
    Object.defineProperty(copy, key, {
      value,
      enumerable: key === 'hint',
      configurable: true,
      writable: true,
    });
  }
  return copy;
}

/**
 * A paid POST began, and it is unknown whether the service accepted it. Exit 5; exit 7 after a redirect, because the
 * service would redirect the next upload too.
 */
export class AmbiguousUploadError extends FoliopipeError {
  override readonly exitCode: 5 | 7;
  readonly doubt: Doubt;

  constructor(code: string, message: string, details: ErrorDetails & { readonly doubt: Doubt }) {
    super(code, message, details);
    this.doubt = details.doubt;
    this.exitCode = details.doubt === 'redirected' ? 7 : 5;
  }
}

/** Wrong usage or configuration, to be corrected by the user. Exit 2. */
export class ConfigError extends FoliopipeError {
  override readonly exitCode = 2;
}

/** The deadline was reached; everything bought is kept, and the same command continues. Exit 8. */
export class DeadlineError extends FoliopipeError {
  override readonly exitCode = 8;
}

/** Temporary trouble (an outage, a full disk, a slow folio); the same command continues. Exit 5. */
export class TroubleError extends FoliopipeError {
  override readonly exitCode = 5;
}

/** The service has not known a folio for longer than `poll.lostAfter`, although it gave us that folio. */
export class FolioLostError extends TroubleError {}

/** The service has failed for longer than we wait. Other chunks go on: rule "Trouble stays with the chunk". */
export class OutageError extends TroubleError {}

/** One of our own limits stopped the run before it pays more: budget, canary, failure rate. Exit 9. */
export class GuardError extends FoliopipeError {
  override readonly exitCode = 9;
}

/** The signals that stop a command; a closed terminal sends SIGHUP. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/**
 * A signal stopped the command, or the `AbortSignal` of its caller the job; everything bought is kept, and the same
 * command or call continues. Exit 130 for SIGINT, else 143.
 */
export class InterruptedError extends FoliopipeError {
  override readonly exitCode: 130 | 143;

  /** @param by the signal, or what stopped the job: then `cause` is the reason of the caller's `AbortSignal`. */
  constructor(by: StopSignal | { readonly cause: unknown } = 'SIGINT') {
    const isSignal = typeof by === 'string';
    super('INTERRUPTED', isSignal ? `interrupted by ${by}` : stopText(by.cause), {
      hint: 'run the same command again: it goes on where this one stopped',
      ...(isSignal ? { facts: { signal: by } } : { cause: by.cause }),
    });
    this.exitCode = by === 'SIGINT' ? 130 : 143;
  }
}

function stopText(reason: unknown): string {
  const name = reason instanceof Error ? reason.name : undefined;
  if (name === 'TimeoutError') return 'stopped by a time-out of its caller';
  return name === 'AbortError' ? 'stopped by its caller' : `stopped by its caller: ${thrownText(reason)}`;
}

/** What a job throws after its signal has aborted: the reason, if it is a FoliopipeError, else an InterruptedError. */
export function stopError(reason: unknown): FoliopipeError {
  return reason instanceof FoliopipeError ? reason : new InterruptedError({ cause: reason });
}

/** Another process holds the lock of the pipeline. Exit 11. */
export class LockedError extends FoliopipeError {
  override readonly exitCode = 11;
}

/** Answers that cannot be trusted: wrong balance, join or columns. Nothing is published. Exit 6. */
export class UntrustedError extends FoliopipeError {
  override readonly exitCode = 6;
}

/**
 * Parts that contradict the records sent or the counts, or that cannot be joined to their records. Fetching them once
 * more may help, at once or when the service was corrected. Any other `UntrustedError` has a way out that fetches nothing.
 */
export class MismatchError extends UntrustedError {}

/** The service keeps answering for a folio in a way that its interface does not allow. Other chunks go on. */
export class BrokenReplyError extends UntrustedError {}

/** The service rejects the token, the quota or the file. Exit 7. */
export class RefusedError extends FoliopipeError {
  override readonly exitCode = 7;
}

/** The source is missing, unreadable, malformed or changed. Exit 4. */
export class SourceError extends FoliopipeError {
  override readonly exitCode = 4;
}

/** Folios are still processing, and the command does not wait for them. Exit 10. */
export class StillProcessingError extends FoliopipeError {
  override readonly exitCode = 10;
}
