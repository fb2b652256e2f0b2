/** Notices that the checkpoint is gone while what its runs have bought is still there: it would be paid for again. */
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ConfigError } from '../errors/index.js';

/**
 * @param path of the checkpoint's file.
 * @throws ConfigError `CHECKPOINT_LOST` when it is missing or empty beside the files of runs.
 */
export async function refuseLost(path: string): Promise<void> {
  // What was committed last may stand in the log beside it alone.
  const [file, log] = await Promise.all([path, `${path}-wal`].map((one) => stat(one).catch(() => undefined)));
  if ((file?.size ?? 0) > 0 || (log?.size ?? 0) > 0) return;
  const runs = join(dirname(path), 'runs');
  const known = await readdir(runs).catch(() => []);
  if (known.length === 0) return;
  throw new ConfigError(
    'CHECKPOINT_LOST',
    `${path} is ${file === undefined ? 'missing' : 'empty'}, but ${runs} holds the results of ${known.length} runs`,
    {
      hint: `put back a copy of it; without one, move ${runs} away: a new run pays for everything again, and folios can be bound by hand (adopt)`,
      facts: { path, runs: known.length },
    },
  );
}
