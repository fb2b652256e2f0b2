/** Parts of a chunk: those that the service lists, and those on disk. */
import type { PartReference, StoredPart } from '../../types.js';
import type { Checkpoint } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

// SUCCESSFUL sorts after FAILED.
const SUCCESSFUL_FIRST = 'ORDER BY file_status DESC, part';

/** Makes `parts` and `listedParts`. */
export function partReads(db: StateDatabase): Pick<Checkpoint, 'parts' | 'listedParts'> {
  const stored = db.prepare<[string, number], StoredPart>(`
    SELECT file_status AS fileStatus, part, bytes, sha256, records FROM parts
    WHERE run = ? AND chunk = ? AND sha256 IS NOT NULL ${SUCCESSFUL_FIRST}`);
  const listed = db.prepare<[string, number], PartReference>(`
    SELECT file_status AS fileStatus, part FROM parts WHERE run = ? AND chunk = ? ${SUCCESSFUL_FIRST}`);

  return {
    parts: db.read((run: string, chunk: number) => stored.all(run, chunk)),
    listedParts: db.read((run: string, chunk: number) => listed.all(run, chunk)),
  };
}
