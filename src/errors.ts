/** The base of every error that foliopipe throws on purpose: what, where, and what to do next. */
import type { Doubt } from './types.js';

/** Facts of an error as fields: file, record, line, chunk, folio. Values are shown to people, never secret. */
export type ErrorFacts = Readonly<Record<string, string | number | boolean | null>>;

export interface ErrorDetails {
  /** What the person types or changes next. */
  readonly hint?: string;
  readonly facts?: ErrorFacts;
  readonly cause?: unknown;
}

/** Base class. `code` is stable and may be relied on; `exitCode` is the one of the outside contract. */
export abstract class FoliopipeError extends Error {
  /** Process exit code of the outside contract. */
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
}

/**
 * A paid POST began and nobody can know whether the service accepted the file (law 3). Exit 5; 7 where the service
 * redirects, which it would do again.
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

/** Wrong usage or configuration: a person mends it and starts again. Exit 2. */
export class ConfigError extends FoliopipeError {
  override readonly exitCode = 2;
}

/** The deadline was reached; everything bought is kept and the same command goes on. Exit 8. */
export class DeadlineError extends FoliopipeError {
  override readonly exitCode = 8;
}

/** Passing trouble (an outage, a full disk, a slow folio): the same command again goes on. Exit 5. */
export class TroubleError extends FoliopipeError {
  override readonly exitCode = 5;
}

/** The service says, and keeps saying, that it does not know a folio that it once gave us. */
export class FolioLostError extends TroubleError {}

/** One thing could not be had from the service for longer than we wait; what else there is goes on (law 9). */
export class OutageError extends TroubleError {}

/** Stopped by our own guard before more is paid: budget, canary, failure rate. Exit 9. */
export class GuardError extends FoliopipeError {
  override readonly exitCode = 9;
}

/** The signals that stop a command; a closed terminal sends SIGHUP. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** Stopped from outside by a signal; everything bought is kept and the same command goes on. Exit 130 or 143. */
export class InterruptedError extends FoliopipeError {
  override readonly exitCode: 130 | 143;

  constructor(signalName: StopSignal = 'SIGINT') {
    super('INTERRUPTED', `interrupted by ${signalName}`, {
      hint: 'run the same command again: it goes on where this one stopped',
      facts: { signal: signalName },
    });
    this.exitCode = signalName === 'SIGINT' ? 130 : 143;
  }
}

/** Another process holds the lock of this pipeline. Exit 11. */
export class LockedError extends FoliopipeError {
  override readonly exitCode = 11;
}

/** Answers that cannot be trusted: balance, join or columns do not hold; nothing is published. Exit 6. */
export class UntrustedError extends FoliopipeError {
  override readonly exitCode = 6;
}

/**
 * Parts that contradict what was sent or what is counted. Fetched once more they may be right, which no other
 * `UntrustedError` promises: columns or a join that changed come back as they are.
 */
export class MismatchError extends UntrustedError {}

/** The service refuses us: token, quota or file. Exit 7. */
export class RefusedError extends FoliopipeError {
  override readonly exitCode = 7;
}

/** The source is missing, unreadable, malformed or changed. Exit 4. */
export class SourceError extends FoliopipeError {
  override readonly exitCode = 4;
}

/** Folios are still processing and nobody wanted to wait for them. Exit 10. */
export class StillProcessingError extends FoliopipeError {
  override readonly exitCode = 10;
}

/** All error classes, one a file. */
