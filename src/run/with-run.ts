/** Runs a body within an open run: closed whatever happens, and the disk's own errors told in our words. */
import { dirname } from 'node:path';
import type { Config } from '../config/schema.js';
import { ConfigError, TroubleError } from '../errors.js';
import { type OpenRun, openRun } from './open-run.js';
import type { RunOptions } from './run-options.js';

/**
 * @throws TroubleError `DISK_FULL`, `DISK_FAILED`, `TOO_MANY_FILES`; ConfigError `FOLDER_UNWRITABLE`, where the
 *   output's folder cannot be written to before anything is sent; what the body throws.
 */
export async function withRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: OpenRun) => Promise<T>,
): Promise<T> {
  try {
    const run = await openRun(config, options);
    const work = async () => {
      if (run.found !== 'done') await run.output.prepare(config.output.path);
      return body(run);
    };
    const result = await work().catch(async (error: unknown) => {
      await run.close().catch(() => undefined);
      throw error;
    });
    await run.close();
    return result;
  } catch (error) {
    throw translateDiskError(error, config);
  }
}

const FULL = /^(ENOSPC|EDQUOT)$/;
const UNWRITABLE = /^(EROFS|EACCES|EPERM|ENOTDIR|EEXIST)$/;

function translateDiskError(error: unknown, { stateDir, output }: Config): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  const code = String(error.code);
  // A write to an open file does not say to which.
  const path = 'path' in error ? String(error.path) : `${stateDir} or ${dirname(output.path)}`;
  const details = (hint: string) => ({ hint, facts: { path }, cause: error });
  if (FULL.test(code)) {
    const hint = 'make room, then run the same command again: it goes on where this one stopped';
    return new TroubleError('DISK_FULL', `no space left to write ${path}`, details(hint));
  }
  if (UNWRITABLE.test(code)) {
    const hint =
      'let this user write there, then run the same command again: it goes on where this one stopped';
    return new ConfigError('FOLDER_UNWRITABLE', `cannot write ${path} (${code})`, details(hint));
  }
  if (code === 'EIO') {
    const hint = 'look at the disk, then run the same command again: it goes on where this one stopped';
    return new TroubleError('DISK_FAILED', `the disk failed on ${path} (${code})`, details(hint));
  }
  if (code === 'EMFILE' || code === 'ENFILE') {
    const hint = 'raise the limit (ulimit -n) or lower concurrency.*, then run the same command again';
    return new TroubleError(
      'TOO_MANY_FILES',
      `too many files are open to open ${path} (${code})`,
      details(hint),
    );
  }
  return error;
}
