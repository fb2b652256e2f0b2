import { TroubleError } from './trouble-error.js';

/** A paid POST began and nobody can know whether the service accepted the file (law 3). */
export class AmbiguousUploadError extends TroubleError {}
