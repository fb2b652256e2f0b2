/** Puts the chunk into an error of those that know only their part, and says what to do about it. */
import type { ChunkRow } from '../checkpoint/checkpoint.js';
import { UntrustedError } from '../errors/index.js';
import { DamagedPartError } from '../files/run-files.js';
import { askProvider } from '../results/misfit-hints.js';

/** The same error with the chunk in it; any other as it is. */
export function namedByChunk(chunk: ChunkRow, error: unknown): unknown {
  const where = `chunk ${chunk.number} (folio ${chunk.folio})`;
  const facts = { chunk: chunk.number, folio: chunk.folio };
  if (error instanceof UntrustedError) {
    return new UntrustedError(error.code, `${where}: ${error.message}`, {
      hint: error.hint ?? askProvider,
      facts: { ...error.facts, ...facts },
      cause: error,
    });
  }
  if (error instanceof DamagedPartError) {
    return new UntrustedError('PART_DAMAGED', `${where}: ${error.message}`, {
      hint: 'foliopipe run fetches it again, which costs nothing',
      facts,
      cause: error,
    });
  }
  return error;
}
