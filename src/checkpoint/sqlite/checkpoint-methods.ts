/** The methods of the checkpoint's port in SQLite, from the files of its tables. */
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import { sharedReads } from '../rows/shared-reads.js';
import type { StateDatabase } from './state-database.js';
import { adoptionChanges } from './tables/adoptions.js';
import { chunkReads } from './tables/chunks.js';
import { columnChanges } from './tables/columns.js';
import { cutChanges, refusalChanges } from './tables/cutting.js';
import { mergeChanges, stretchReads } from './tables/merges.js';
import { resultChanges } from './tables/parts.js';
import { publicationChanges, segmentChanges } from './tables/publications.js';
import { runChanges, runReads } from './tables/runs.js';
import { searchChanges, singleSearchChanges } from './tables/searches.js';
import { spendingRead } from './tables/spending.js';
import { uploadChanges, uploadReads } from './tables/uploads.js';

/** Makes the writing half of the port: each change of state, and the reads that only the writer needs. */
export function checkpointChanges(
  db: StateDatabase,
): Omit<Checkpoint, keyof CheckpointReader | 'close' | 'verifyPaid'> {
  return {
    ...runChanges(db),
    ...cutChanges(db),
    ...refusalChanges(db),
    ...uploadChanges(db),
    ...adoptionChanges(db),
    ...resultChanges(db),
    ...searchChanges(db),
    ...singleSearchChanges(db),
    ...columnChanges(db),
    ...mergeChanges(db),
    ...segmentChanges(db),
    ...publicationChanges(db),
  };
}

/** Makes the reading half of the port. */
export function checkpointReads(db: StateDatabase): CheckpointReader {
  const read = <Row>(sql: string) => {
    const statement = db.prepare<object, Row>(sql);
    return db.read((values: object) => statement.all(values));
  };
  return {
    ...sharedReads(read, 'rowid'),
    ...runReads(db),
    ...chunkReads(db),
    ...uploadReads(db),
    ...stretchReads(db),
    spending: db.readTogether(spendingRead(db)),
  };
}
