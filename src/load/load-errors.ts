/** Errors of a load that every database has: the text is the same, and the hint says what helps there. */
import { ConfigError, type ErrorDetails, RefusedError, TroubleError, UntrustedError } from '../errors.js';

/** Ends a hint: nothing more than the load is done again. */
export const AGAIN = 'run the same command again: nothing is paid again';

/** @param place the database as it may be shown, here and below. */
export function loadDenied(text: string, place: string, details: ErrorDetails, hint: string): RefusedError {
  return new RefusedError('LOAD_DENIED', `${place} refuses the load: ${text}`, { ...details, hint });
}

export function loadBusy(text: string, place: string, details: ErrorDetails, hint: string): TroubleError {
  return new TroubleError('LOAD_BUSY', `${place} could not do the load now: ${text}`, { ...details, hint });
}

/** @param program the program whose version matters. */
export function loadUnreadable(
  text: string,
  place: string,
  details: ErrorDetails,
  program: string,
): UntrustedError {
  return new UntrustedError(
    'LOAD_UNREADABLE',
    `${place} reads the output otherwise than it was written: ${text}`,
    {
      ...details,
      hint: `nothing was loaded; please report it, with the version of ${program}`,
    },
  );
}

export function valueUnfit(text: string, place: string, details: ErrorDetails): ConfigError {
  return new ConfigError('LOAD_VALUE_UNFIT', `${place}: a value does not fit the table: ${text}`, {
    ...details,
    hint: 'nothing was loaded; give the column a type that holds the values, such as text; then the same command again',
  });
}

export function tableUnfit(text: string, place: string, details: ErrorDetails, change: string): ConfigError {
  return new ConfigError('LOAD_UNFIT', `${place} cannot load the output into this table: ${text}`, {
    ...details,
    hint: `change ${change}, or load into another one (load.table); then the same command again`,
  });
}

/** @param manual where the meaning of the message stands. */
export function loadFailed(text: string, place: string, details: ErrorDetails, manual: string): ConfigError {
  return new ConfigError('LOAD_FAILED', `${place} refuses the load: ${text}`, {
    ...details,
    hint: `nothing was loaded; look what the message means in ${manual}; then the same command again`,
  });
}
