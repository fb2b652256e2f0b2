import { UntrustedError } from './untrusted-error.js';

/**
 * Parts that contradict what was sent or what is counted. Fetched once more they may be right, which no other
 * `UntrustedError` promises: columns or a join that changed come back as they are.
 */
export class MismatchError extends UntrustedError {}
