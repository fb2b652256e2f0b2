/** Parts of a chunk: those that the service lists, and those on disk. */
import type { PartReference, StoredPart } from '../../types.js';
import type { Checkpoint } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

// SUCCESSFUL sorts after FAILED.
const SUCCESSFUL_FIRST = 'ORDER BY file_status DESC, part';

/** Prepares the look at the parts that are stored of a chunk, to be taken within a transaction. */
export function storedPartsRead(db: StateDatabase): (run: string, chunk: number) => StoredPart[] {
  const stored = db.prepare<[string, number], StoredPart>(`
    SELECT file_status AS fileStatus, part, bytes, sha256, records FROM parts
    WHERE run = ? AND chunk = ? AND sha256 IS NOT NULL ${SUCCESSFUL_FIRST}`);
  return (run, chunk) => stored.all(run, chunk);
}

/** Makes `parts` and `listedParts`. */
export function partReads(db: StateDatabase): Pick<Checkpoint, 'parts' | 'listedParts'> {
  const listed = db.prepare<[string, number], PartReference>(`
    SELECT file_status AS fileStatus, part FROM parts WHERE run = ? AND chunk = ? ${SUCCESSFUL_FIRST}`);

  return {
    parts: db.read(storedPartsRead(db)),
    listedParts: db.read((run: string, chunk: number) => listed.all(run, chunk)),
  };
}
