/** The methods of the checkpoint's port in SQLite, from the files of its tables. */
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import type { MakeChange } from '../rows/change.js';
import { columnChanges } from '../rows/column-changes.js';
import { lateFolioChanges } from '../rows/late-folios.js';
import { publicationChanges } from '../rows/publication-changes.js';
import { sharedReads } from '../rows/shared-reads.js';
import { changeSteps, type StateDatabase } from './state-database.js';
import { chunkReads } from './tables/chunks.js';
import { cutChanges, refusalChanges } from './tables/cutting.js';
import { mergeChanges } from './tables/merges.js';
import { resultChanges } from './tables/parts.js';
import { runChanges, runReads } from './tables/runs.js';
import { searchChanges, singleSearchChanges } from './tables/searches.js';
import { spendingRead } from './tables/spending.js';
import { uploadChanges, uploadReads } from './tables/uploads.js';

/** Makes the writing half of the port: each change of state, and the reads that only the writer needs. */
export function checkpointChanges(
  db: StateDatabase,
): Omit<Checkpoint, keyof CheckpointReader | 'close' | 'verifyPaid'> {
  const take = changeSteps(db);
  const make: MakeChange = (change) => db.change((...args) => take(change(...args)));
  const begunUpload = db
    .prepare<[string], string>('SELECT upload FROM output_uploads WHERE name = ?')
    .pluck();
  return {
    ...runChanges(db),
    ...cutChanges(db),
    ...refusalChanges(db),
    ...uploadChanges(db),
    ...lateFolioChanges(make),
    ...resultChanges(db),
    ...searchChanges(db),
    ...singleSearchChanges(db),
    ...columnChanges(make),
    ...mergeChanges(db),
    ...publicationChanges(make),
    outputUpload: db.read((name) => begunUpload.get(name)),
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
    spending: db.readTogether(spendingRead(db)),
  };
}
