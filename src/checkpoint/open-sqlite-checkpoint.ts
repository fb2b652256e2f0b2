/** The checkpoint of one machine: `<stateDir>/checkpoint.db`, for all pipelines, one connection a process. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
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
import type { Checkpoint } from './checkpoint.js';
import { checkpointReads } from './checkpoint-reads.js';
import { openWritingConnection } from './open-connection.js';
import { partReads } from './reads/part-reads.js';
import { refuseLost } from './refuse-lost.js';
import { refuseNetworkFolder } from './refuse-network-folder.js';
import { createStateDatabase } from './state-database.js';
import { translateStateError } from './translate-state-error.js';

/**
 * Opens the checkpoint for writing and brings its tables up to date: WAL, synchronous FULL (each change is on
 * disk when its promise resolves), up to 10 s of waiting for other pipelines' writes, 0600 in a 0700 folder.
 * @param stateDir made where it is missing
 * @throws ConfigError `STATE_DIR_UNWRITABLE`, `STATE_DIR_NETWORK`, `CHECKPOINT_LOST`, `CHECKPOINT_DAMAGED`, `CHECKPOINT_NEWER`
 * @throws TroubleError `DISK_FULL`, `CHECKPOINT_BUSY`, `CHECKPOINT_IO`; these also from every method
 */
export async function openSqliteCheckpoint(stateDir: string): Promise<Checkpoint> {
  const path = join(stateDir, 'checkpoint.db');
  try {
    await mkdir(stateDir, { recursive: true, mode: 0o700 });
    await refuseNetworkFolder(stateDir);
    await refuseLost(path);
    const db = createStateDatabase(await openWritingConnection(path));
    return {
      ...checkpointReads(db),
      ...partReads(db),
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
      close: db.close,
    };
  } catch (error) {
    throw translateStateError(error, path);
  }
}
