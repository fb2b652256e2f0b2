/**
 * The checkpoint in SQLite, for one machine: `<stateDir>/checkpoint.db` for all pipelines, with one connection for each
 * process. A reader can work while a run writes: it takes no lock, migrates nothing and creates nothing.
 */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../make-folder.js';
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import { readCopyMark, refuseMarked } from '../copy/copy-mark.js';
import { createReserve } from '../journal/disk-reserve.js';
import { runsWithFiles } from '../journal/files-in-state.js';
import { openRunJournals } from '../journal/run-journals.js';
import { searchJournalPath, writeSearchJournal } from '../journal/search-journal.js';
import { withJournal } from '../journal/with-journal.js';
import type { MakeChange } from '../rows/change.js';
import { chunkChanges } from '../rows/chunk-changes.js';
import { lateFolioChanges } from '../rows/late-folios.js';
import { publicationChanges } from '../rows/publication-changes.js';
import { runChanges } from '../rows/run-changes.js';
import { sharedReads } from '../rows/shared-reads.js';
import { lastCheck, rememberCheck } from './last-check.js';
import { openWritingConnection } from './open-connection.js';
import { openReadingConnection } from './open-for-reading.js';
import { refuseLost, refuseUnknown, refuseUnknownRuns, refuseUnknownSearches } from './refuse-lost.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { changeSteps, createStateDatabase, openLogSync, type StateDatabase } from './state-database.js';
import { chunkRead, cutChange } from './tables/chunks.js';
import { resultChanges } from './tables/results.js';
import { newRunChanges, runReads } from './tables/runs.js';
import { allSingleSearches, searchChanges, singleSearchChanges } from './tables/searches.js';
import { spendingRead } from './tables/spending.js';
import { uploadChanges, uploadReads } from './tables/uploads.js';
import { translateStateError } from './translate-state-error.js';

/**
 * Opens the checkpoint for writing and migrates its tables. Uses WAL. Each change, except unsynced ones, is on the disk
 * when its promise resolves. Waits up to 10 s for writes of other pipelines. Files have mode 0600, the folder 0700.
 * @param stateDir created if missing.
 * @throws ConfigError `STATE_DIR_UNWRITABLE`, `STATE_DIR_NETWORK`, `CHECKPOINT_LOST`, `CHECKPOINT_BEHIND`,
 *   `CHECKPOINT_DAMAGED`, `CHECKPOINT_NEWER`, `STATE_MOVED`, `STATE_COPY_UNFINISHED`; LockedError `PIPELINE_LOCKED`, if it
 *   must be migrated while another pipeline runs
 * @throws TroubleError `DISK_FULL`, `CHECKPOINT_BUSY`, `CHECKPOINT_IO`; these also from every method, and ConfigError
 *   `CHECKPOINT_GONE` from each change and from `close`
 */
export async function openSqliteCheckpoint(stateDir: string): Promise<Checkpoint> {
  const path = join(stateDir, 'checkpoint.db');
  try {
    makeFolder(stateDir, 0o700);
    await refuseNetworkFolder(stateDir);
    refuseMarked(stateDir, readCopyMark(stateDir), 'change');
    await refuseLost(path);
    const db = await openForWriting(path);
    return await openJournaled(db, stateDir).catch(async (error: unknown) => {
      await db.close();
      throw error;
    });
  } catch (error) {
    throw translateStateError(error, path);
  }
}

async function openForWriting(path: string): Promise<StateDatabase> {
  const now = Date.now();
  const checkedAt = lastCheck(path, now);
  const connection = await openWritingConnection(path, checkedAt !== undefined);
  try {
    const opened = statSync(path, { bigint: true });
    const log = openLogSync(path);
    const db = createStateDatabase(connection, log);
    const close = async () => {
      await db.close();
      if (log.failure === undefined) rememberCheck(path, opened, checkedAt ?? now);
    };
    let closing: Promise<void> | undefined;
    return {
      ...db,
      close: () => {
        // A second one would find that SQLite has removed the log, and would close a descriptor that others may use.
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

async function openJournaled(db: StateDatabase, stateDir: string): Promise<Checkpoint> {
  await refuseUnknownRuns(db, stateDir);
  await refuseUnknownSearches(db, stateDir);
  await makeSearchJournal(db, stateDir);
  const checkpoint = { ...checkpointReads(db), ...checkpointChanges(db), close: db.close };
  return withJournal(checkpoint, openRunJournals(stateDir, db), createReserve(stateDir));
}

/** Writes the journal of searches that belong to no run again, if it is gone. */
async function makeSearchJournal(db: StateDatabase, stateDir: string): Promise<void> {
  if (existsSync(searchJournalPath(stateDir))) return;
  const searches = await db.read(allSingleSearches(db))();
  if (searches.length > 0) writeSearchJournal(stateDir, searches);
}

/**
 * Opens the checkpoint for reading.
 * @returns undefined when there is no state yet
 * @throws ConfigError `STATE_DIR_NETWORK`, `CHECKPOINT_LOST`, `CHECKPOINT_BEHIND`, `CHECKPOINT_DAMAGED`,
 *   `CHECKPOINT_NEWER`, `CHECKPOINT_OLDER`
 */
export async function openCheckpointReader(
  stateDir: string,
): Promise<(CheckpointReader & { close(): Promise<void> }) | undefined> {
  const path = join(stateDir, 'checkpoint.db');
  try {
    refuseMarked(stateDir, readCopyMark(stateDir), 'read');
    await refuseLost(path);
    if (!existsSync(path)) return undefined;
    await refuseNetworkFolder(stateDir);
    const connection = openReadingConnection(path);
    if (connection === undefined) {
      refuseUnknown(stateDir, runsWithFiles(stateDir));
      return undefined;
    }
    const db = createStateDatabase(connection);
    return await openKnown(db, stateDir).catch(async (error: unknown) => {
      await db.close();
      throw error;
    });
  } catch (error) {
    throw translateStateError(error, path);
  }
}

async function openKnown(db: StateDatabase, stateDir: string) {
  await refuseUnknownRuns(db, stateDir);
  await refuseUnknownSearches(db, stateDir);
  return { ...checkpointReads(db), close: db.close };
}

/** Without it, SQLite would follow the primary key through all chunks of the run. */
const CHUNKS_IN_ORDER = 'INDEXED BY chunks_in_order';

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
    ...newRunChanges(db),
    ...runChanges(make, CHUNKS_IN_ORDER),
    ...cutChange(db),
    ...chunkChanges(make),
    ...uploadChanges(db),
    ...lateFolioChanges(make),
    ...resultChanges(db),
    ...searchChanges(db),
    ...singleSearchChanges(db),
    ...publicationChanges(make),
    outputUpload: db.read((name) => begunUpload.get(name)),
  };
}

/** Makes the reading half of the port. */
function checkpointReads(db: StateDatabase): CheckpointReader {
  const read = <Row>(sql: string) => {
    const statement = db.prepare<object, Row>(sql);
    return db.read((values: object) => statement.all(values));
  };
  return {
    ...sharedReads(read, 'rowid', CHUNKS_IN_ORDER),
    ...runReads(db),
    ...chunkRead(db),
    ...uploadReads(db),
    spending: db.readTogether(spendingRead(db)),
  };
}
