/** Everything that only the writer may ask for: each change of state, and what it needs for that. */
import { adoptionChange } from './changes/adoption-change.js';
import { cutChanges } from './changes/cut-changes.js';
import { mergeChanges } from './changes/merge-changes.js';
import { pruneChange } from './changes/prune-change.js';
import { publicationChanges } from './changes/publication-changes.js';
import { refusalChanges } from './changes/refusal-changes.js';
import { resultChanges } from './changes/result-changes.js';
import { roundChanges } from './changes/round-changes.js';
import { runChanges } from './changes/run-changes.js';
import { searchChanges } from './changes/search-changes.js';
import { uploadChanges } from './changes/upload-changes.js';
import type { Checkpoint, CheckpointReader } from './checkpoint.js';
import { partReads } from './reads/part-reads.js';
import type { StateDatabase } from './state-database.js';

/** Makes the other half of the port. */
export function checkpointChanges(
  db: StateDatabase,
): Omit<Checkpoint, keyof CheckpointReader | 'close' | 'verifyPaid'> {
  return {
    listedParts: partReads(db).listedParts,
    ...runChanges(db),
    ...cutChanges(db),
    ...refusalChanges(db),
    ...uploadChanges(db),
    ...adoptionChange(db),
    ...resultChanges(db),
    ...roundChanges(db),
    ...searchChanges(db),
    ...mergeChanges(db),
    ...publicationChanges(db),
    ...pruneChange(db),
  };
}
