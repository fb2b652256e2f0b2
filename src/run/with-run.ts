/** Runs a body within an open run: closed whatever happens, and the disk's own errors told in our words. */
import type { Config } from '../config/schema.js';
import { TroubleError } from '../errors/index.js';
import { type OpenRun, openRun } from './open-run.js';
import type { RunOptions } from './run-options.js';

export async function withRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: OpenRun) => Promise<T>,
): Promise<T> {
  try {
    const run = await openRun(config, options);
    const result = await body(run).catch(async (error: unknown) => {
      await run.close().catch(() => undefined);
      throw error;
    });
    await run.close();
    return result;
  } catch (error) {
    return translateDiskError(error);
  }
}

const diskTroubles: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'access is denied',
  EPERM: 'the operation is not permitted',
  EIO: 'the disk reports an error',
  EMFILE: 'too many files are open',
};

function translateDiskError(error: unknown): never {
  const { code, path } = error as NodeJS.ErrnoException;
  const trouble = code === undefined ? undefined : diskTroubles[code];
  if (!(error instanceof Error) || trouble === undefined) throw error;
  throw new TroubleError(`DISK_${code}`, `${trouble}${path ? `: ${path}` : ''}`, {
    hint: 'mend that and run the same command again: it goes on where this one stopped',
    cause: error,
  });
}
