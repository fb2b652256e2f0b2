/** The base of every error that foliopipe throws on purpose: what, where, and what to do next. */

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
