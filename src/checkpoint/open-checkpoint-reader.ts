/** Reading while a run writes: no lock, no migration, nothing made. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointReader } from './checkpoint.js';
import { checkpointReads } from './checkpoint-reads.js';
import { runsWithFiles } from './journal/journal-folder.js';
import { openReadingConnection } from './open-connection.js';
import { refuseLost, refuseUnknown, refuseUnknownRuns } from './refuse-lost.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { createStateDatabase, type StateDatabase } from './state-database.js';
import { translateStateError } from './translate-state-error.js';

/**
 * Opens the checkpoint for status and the other reading commands; it works while a run writes.
 * @returns undefined when there is no state yet
 * @throws ConfigError `STATE_DIR_NETWORK`, `CHECKPOINT_LOST`, `CHECKPOINT_BEHIND`, `CHECKPOINT_DAMAGED`,
 *   `CHECKPOINT_NEWER`, `CHECKPOINT_OLDER`
 */
export async function openCheckpointReader(
  stateDir: string,
): Promise<(CheckpointReader & { close(): Promise<void> }) | undefined> {
  const path = join(stateDir, 'checkpoint.db');
  try {
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
  return { ...checkpointReads(db), close: db.close };
}
