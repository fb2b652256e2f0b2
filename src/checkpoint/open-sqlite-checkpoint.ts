/** The checkpoint of one machine: `<stateDir>/checkpoint.db`, for all pipelines, one connection a process. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Checkpoint } from './checkpoint.js';
import { checkpointChanges } from './checkpoint-changes.js';
import { checkpointReads } from './checkpoint-reads.js';
import { openRunJournals } from './journal/run-journals.js';
import { withJournal } from './journal/with-journal.js';
import { openWritingConnection } from './open-connection.js';
import { refuseLost, refuseUnknownRuns } from './refuse-lost.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { createStateDatabase, type StateDatabase } from './state-database.js';
import { translateStateError } from './translate-state-error.js';

/**
 * Opens the checkpoint for writing and brings its tables up to date: WAL, each change but the redoable ones on the
 * disk when its promise resolves, up to 10 s of waiting for other pipelines' writes, 0600 in a 0700 folder.
 * @param stateDir made where it is missing
 * @throws ConfigError `STATE_DIR_UNWRITABLE`, `STATE_DIR_NETWORK`, `CHECKPOINT_LOST`, `CHECKPOINT_BEHIND`,
 *   `CHECKPOINT_DAMAGED`, `CHECKPOINT_NEWER`
 * @throws TroubleError `DISK_FULL`, `CHECKPOINT_BUSY`, `CHECKPOINT_IO`; these also from every method
 */
export async function openSqliteCheckpoint(stateDir: string): Promise<Checkpoint> {
  const path = join(stateDir, 'checkpoint.db');
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await refuseNetworkFolder(stateDir);
    await refuseLost(path);
    const db = createStateDatabase(await openWritingConnection(path));
    return await openJournaled(db, stateDir).catch(async (error: unknown) => {
      await db.close();
      throw error;
    });
  } catch (error) {
    throw translateStateError(error, path);
  }
}

async function openJournaled(db: StateDatabase, stateDir: string): Promise<Checkpoint> {
  await refuseUnknownRuns(db, stateDir);
  const checkpoint = { ...checkpointReads(db), ...checkpointChanges(db), close: db.close };
  return withJournal(checkpoint, openRunJournals(stateDir, db));
}
