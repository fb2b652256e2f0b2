/** Reading while a run writes: no lock, no migration, nothing made. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { CheckpointReader } from './checkpoint.js';
import { checkpointReads } from './checkpoint-reads.js';
import { openReadingConnection } from './open-connection.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { createStateDatabase } from './state-database.js';
import { translateStateError } from './translate-state-error.js';

/**
 * Opens the checkpoint for status and the other reading commands; it works while a run writes.
 * @returns undefined when there is no state yet
 * @throws ConfigError `STATE_DIR_NETWORK`, `CHECKPOINT_DAMAGED`, `CHECKPOINT_NEWER`, `CHECKPOINT_OLDER`
 */
export async function openCheckpointReader(
  stateDir: string,
): Promise<(CheckpointReader & { close(): Promise<void> }) | undefined> {
  const path = join(stateDir, 'checkpoint.db');
  try {
    if (!(await exists(path))) return undefined;
    await refuseNetworkFolder(stateDir);
    const connection = openReadingConnection(path);
    if (connection === undefined) return undefined;
    const db = createStateDatabase(connection);
    return { ...checkpointReads(db), close: db.close };
  } catch (error) {
    throw translateStateError(error, path);
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false;
    throw error;
  }
}
