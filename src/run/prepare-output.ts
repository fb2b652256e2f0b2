/** Makes sure, before a run pays or writes, that its output can be put in place and that nobody else writes it. */

import type { HeldLock, LockHolder } from '../checkpoint/pipeline-lock.js';
import { lockOutput, outputLockPath } from '../checkpoint/sqlite/output-lock.js';
import { isPassingTrouble } from '../disk-error.js';
import { ConfigError, LockedError } from '../errors.js';
import type { OutputStore } from '../files/output-store.js';
import type { Logger } from '../logger.js';
import { outputNames } from '../report/manifest.js';
import { type OutputWriter, refuseOtherPipeline } from '../report/output-owner.js';
import { codeOf } from '../streams/system-error.js';
import { escapeUnprintable } from '../text.js';

/**
 * Checks the place of an output, prepares it, and locks it.
 * @param path the path of the output.
 * @param isLocal whether the output is put on a local disk by foliopipe itself, where it can be locked.
 * @returns the lock; a store of others has its own.
 * @throws LockedError `OUTPUT_LOCKED`; ConfigError `OUTPUT_LOCK_FAILED` and the errors of `checkOutput`.
 */
export async function prepareOutput(
  {
    store,
    isLocal,
    logger,
  }: { readonly store: OutputStore; readonly isLocal: boolean; readonly logger: Logger },
  writer: OutputWriter,
  path: string,
  holder: LockHolder,
): Promise<HeldLock> {
  const names = outputNames(path);
  await store.check(names, []);
  await store.prepare(names);
  const lock = isLocal
    ? await lockLocal(path, { ...holder, command: `${holder.command}, pipeline ${writer.pipeline}` }, logger)
    : noLock;
  try {
    // Read under the lock: another pipeline may just have published.
    await refuseOtherPipeline(store, path, writer);
    return lock;
  } catch (error) {
    await lock.close();
    throw error;
  }
}

const noLock: HeldLock = { close: async () => undefined };

async function lockLocal(path: string, holder: LockHolder, logger: Logger): Promise<HeldLock> {
  const locking = await lockOutput(path, holder).catch((cause: unknown) => {
    throw lockFailed(path, cause);
  });
  if (locking.kind === 'taken') throw outputLocked(path, locking.holder);
  if (locking.kind === 'held') return locking.lock;
  logger.debug(
    { path },
    `the disk of ${path} has no locks: another pipeline that writes it is not noticed before it publishes`,
  );
  return noLock;
}

function outputLocked(path: string, holder: LockHolder | undefined): LockedError {
  const { pid, command, since } = holder ?? {};
  const who = holder === undefined ? 'another process' : `process ${pid} (${escapeUnprintable(command!)})`;
  const from = since === undefined ? '' : ` since ${new Date(since).toISOString()}`;
  return new LockedError('OUTPUT_LOCKED', `${who} has been writing ${path}${from}`, {
    hint: 'wait until it ends (--wait-lock does); two pipelines need another output.path each',
    facts: { path, ...(holder && { pid: holder.pid, command: escapeUnprintable(holder.command) }) },
  });
}

function lockFailed(path: string, cause: unknown): unknown {
  if (isPassingTrouble(cause)) return cause;
  const lock = outputLockPath(path);
  return new ConfigError('OUTPUT_LOCK_FAILED', `${lock} cannot be locked (${codeOf(cause)})`, {
    hint: 'a run of another user holds it, or was killed: wait until it ends; if there is none, remove the file and run the same command again',
    facts: { path, lock },
    cause,
  });
}
