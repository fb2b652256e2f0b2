import { TroubleError } from './trouble-error.js';

/** One thing could not be had from the service for longer than we wait; what else there is goes on (law 9). */
export class OutageError extends TroubleError {}
