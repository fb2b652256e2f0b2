/** Continues the last rehearsal of a scene if it is unfinished; otherwise removes its state. */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type Config,
  ConfigError,
  createFileLock,
  openCheckpointReader,
  type Run,
  removeWaitingFiles,
  systemClock,
  waitForLock,
} from '../../../pipelines/index.js';
import type { PrepareOptions } from '../session.js';

/**
 * @param config of the rehearsal, with its own state folder.
 * @param fresh removes the last rehearsal even if it is unfinished.
 * @returns the unfinished run; undefined when a new rehearsal begins, in an empty state.
 * @throws LockedError while another process runs the same rehearsal.
 */
export async function continueOrClear(
  config: Config,
  fresh: boolean,
  { waitLock = 0, holder, signal, logger }: PrepareOptions,
): Promise<Run | undefined> {
  const { stateDir, pipeline } = config;
  const clock = systemClock;
  const who = { ...holder, since: clock.now() };
  const lock = await waitForLock(
    createFileLock(stateDir),
    { pipeline, holder: who, wait: waitLock },
    { signal, logger, clock },
  );
  try {
    const unfinished = await findUnfinished(stateDir, pipeline);
    if (unfinished !== undefined) {
      if (!fresh) return unfinished;
      await removeWaitingFiles(unfinished, stateDir);
    }
    await clear(stateDir);
    return undefined;
  } finally {
    await lock.close();
  }
}

/** The unfinished run. Treats a state that cannot be read (damaged, or of another version) as empty. */
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

/** The files of a rehearsal, except those of the lock, which always stay. */
const OWN = /^(?:checkpoint\.db.*|deltas|reuse|runs|service|spool)$/;

/** Removes the checkpoint first, so that what a kill leaves behind is not a run that could be continued. */
async function clear(stateDir: string): Promise<void> {
  for (const name of (await readdir(stateDir)).filter((one) => OWN.test(one)).sort()) {
    await rm(join(stateDir, name), { recursive: true, force: true });
  }
}
