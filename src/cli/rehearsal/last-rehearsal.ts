/** What the last rehearsal of a scene has left: gone on with where it is unfinished, else cleared away. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Config,
  ConfigError,
  createFileLock,
  openCheckpointReader,
  type Run,
  systemClock,
  waitForLock,
  workPathOf,
} from '../../../pipelines/index.js';
import type { SetUpNeeds } from '../session.js';

/**
 * @param config the rehearsal's, with its own state folder.
 * @param fresh clear it away even where it is unfinished.
 * @returns the unfinished run; undefined when a new rehearsal begins, in an empty state.
 * @throws LockedError while another process rehearses the same.
 */
export async function takeUpLast(
  { stateDir, pipeline, output }: Config,
  fresh: boolean,
  { waitLock = 0, holder, ...needs }: SetUpNeeds,
): Promise<Run | undefined> {
  const clock = systemClock;
  const who = { ...holder, since: clock.now() };
  const lock = await waitForLock(
    createFileLock(stateDir),
    { pipeline, holder: who, wait: waitLock },
    { ...needs, clock },
  );
  try {
    const unfinished = await findUnfinished(stateDir, pipeline);
    if (unfinished !== undefined) {
      if (!fresh) return unfinished;
      await rm(workPathOf(output.path, unfinished.id), { force: true });
    }
    await clear(stateDir);
    return undefined;
  } finally {
    await lock.close();
  }
}

/** A state that cannot be read (damaged, or another version's) holds nothing that is worth keeping. */
async function findUnfinished(stateDir: string, pipeline: string): Promise<Run | undefined> {
  try {
    const reader = await openCheckpointReader(stateDir);
    try {
      return await reader?.unfinishedRun(pipeline);
    } finally {
      await reader?.close();
    }
  } catch (error) {
    if (error instanceof ConfigError && error.code.startsWith('CHECKPOINT_')) return undefined;
    throw error;
  }
}

/** All but the lock's own files, which stay for ever. */
async function clear(stateDir: string): Promise<void> {
  for (const name of ['checkpoint.db', 'checkpoint.db-wal', 'checkpoint.db-shm', 'runs', 'service']) {
    await rm(join(stateDir, name), { recursive: true, force: true });
  }
}
