/** Everything that may be asked without the lock. */
import type { CheckpointReader } from './checkpoint.js';
import { chunkReads } from './reads/chunk-reads.js';
import { columnReads } from './reads/column-reads.js';
import { partReads } from './reads/part-reads.js';
import { runReads } from './reads/run-reads.js';
import { searchReads } from './reads/search-reads.js';
import { spendingRead } from './reads/spending-read.js';
import { tallyRead } from './reads/tally-read.js';
import { uploadReads } from './reads/upload-reads.js';
import type { StateDatabase } from './state-database.js';

/** Makes the reading half of the port. */
export function checkpointReads(db: StateDatabase): CheckpointReader {
  return {
    ...runReads(db),
    ...chunkReads(db),
    ...uploadReads(db),
    parts: partReads(db).parts,
    ...tallyRead(db),
    ...columnReads(db),
    ...searchReads(db),
    spending: db.readTogether(spendingRead(db)),
  };
}
