import { TroubleError } from './trouble-error.js';

/** The service says, and keeps saying, that it does not know a folio that it once gave us. */
export class FolioLostError extends TroubleError {}
