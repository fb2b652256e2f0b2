/** All error classes, one a file. */
export { AmbiguousUploadError } from './ambiguous-upload-error.js';
export { ConfigError } from './config-error.js';
export { DeadlineError } from './deadline-error.js';
export { FolioLostError } from './folio-lost-error.js';
export { type ErrorDetails, type ErrorFacts, FoliopipeError } from './foliopipe-error.js';
export { GuardError } from './guard-error.js';
export { InterruptedError, type StopSignal } from './interrupted-error.js';
export { LockedError } from './locked-error.js';
export { MismatchError } from './mismatch-error.js';
export { OutageError } from './outage-error.js';
export { RefusedError } from './refused-error.js';
export { SourceError } from './source-error.js';
export { StillProcessingError } from './still-processing-error.js';
export { TroubleError } from './trouble-error.js';
export { UntrustedError } from './untrusted-error.js';
