/** Makes sure, before a run pays or writes, that its output can be put in place and that nobody else writes it. */

import {
  type HeldLock,
  LeaseHeldError,
  type LockHolder,
  type PipelineLock,
} from '../../checkpoint/pipeline-lock.js';
import { holderHere } from '../../checkpoint/sqlite/lock-file.js';
import { lockOutput, outputLockPath, type Taken } from '../../checkpoint/sqlite/output-lock.js';
import type { Config } from '../../config/schema.js';
import { anchorOf, isFolder, isS3 } from '../../config/sections/output-names.js';
import { isPassingTrouble } from '../../disk-error.js';
import { ConfigError, LockedError } from '../../errors.js';
import type { OutputStore } from '../../files/output-store.js';
import type { Logger } from '../../logger.js';
import { type OutputWriter, refuseOtherPipeline } from '../../report/output-owner.js';
import { codeOf } from '../../streams/system-error.js';
import { escapeUnprintable } from '../../text.js';
import { outputNames } from '../check/check-output.js';
import type { RunOptions } from '../run-options.js';
import { type OpenState, type StateContext, waitForLock } from './open-state.js';
import type { Releasers } from './releasers.js';

/** Where outputs are put, and what locks them. */
interface OutputPlace {
  readonly store: OutputStore;
  /** The locks of outputs, if the machines share them. */
  readonly outputs: PipelineLock | undefined;
  /** Whether foliopipe itself puts outputs in place; on a local disk they can be locked. */
  readonly isLocal: boolean;
  readonly stateDir: string;
  readonly logger: Logger;
}

/**
 * The store of a run's outputs, which changes them only while this process may write all that were prepared.
 * @returns also the function that prepares an output, each once. Its lock is freed when the run is closed.
 */
export function createGuardedOutput(
  { pipeline, service, stateDir }: Pick<Config, 'pipeline' | 'service' | 'stateDir'>,
  { output, ...options }: RunOptions,
  context: StateContext,
  {
    store,
    lock: pipelineLock,
    outputs,
  }: Pick<OpenState, 'lock' | 'outputs'> & { readonly store: OutputStore },
  releasers: Releasers,
): { readonly prepareOutput: (path: string) => Promise<void>; readonly output: OutputStore } {
  const prepared = new Map<string, HeldLock>();
  const place = { store, outputs, isLocal: output === undefined, stateDir, logger: context.logger };
  const prepare = async (path: string) => {
    if (prepared.has(path)) return;
    const writer = { pipeline, isTrial: service.embedded };
    const lock: PipelineLock = { take: (_, holder) => prepareOutput(place, writer, path, holder) };
    const wait = options.waitLock ?? 0;
    const holder = holderHere(options.holder, context.clock.now());
    const { onProgress } = options;
    const one = await waitForLock(lock, { pipeline, holder, wait, onProgress }, context);
    prepared.set(path, one);
    releasers.add(one);
  };
  const expectOurs = async () => {
    for (const one of prepared.values()) await one.expectHeld?.();
    await pipelineLock.expectHeld?.();
  };
  return { prepareOutput: prepare, output: createWatchedStore(store, expectOurs) };
}

/**
 * Checks the place of an output, prepares it, and locks it.
 * @param path the path of the output.
 * @returns its lock. It holds nothing if the machines share no locks of outputs and the output is not on a local disk.
 *   `expectHeld` also checks that no other pipeline has published there meanwhile (`OUTPUT_OF_OTHER_PIPELINE`).
 * @throws LockedError `OUTPUT_LOCKED`; ConfigError `OUTPUT_LOCK_FAILED` and the errors of `checkOutput`.
 */
async function prepareOutput(
  { store, outputs, isLocal, stateDir, logger }: OutputPlace,
  writer: OutputWriter,
  path: string,
  holder: LockHolder,
): Promise<HeldLock> {
  refuseFolder(store, path);
  const names = outputNames(path, stateDir);
  await store.check(names, []);
  await store.prepare(names);
  const named = { ...holder, command: `${holder.command}, pipeline ${writer.pipeline}` };
  const lock = await takeLock();
  const expectHeld = async () => {
    await lock.expectHeld?.();
    // Read under the lock: another pipeline may just have published.
    await refuseOtherPipeline(store, path, writer);
  };
  try {
    await expectHeld();
    return { expectHeld, close: () => lock.close() };
  } catch (error) {
    await lock.close().catch(() => undefined);
    throw error;
  }

  async function takeLock(): Promise<HeldLock> {
    if (outputs !== undefined) return lockShared(outputs, path, named);
    return isLocal && !isS3(path) ? lockLocal(path, named, logger) : noLock;
  }
}

/** @throws ConfigError `OUTPUT_IS_FOLDER` for a folder in a store of the embedding program that has none. */
function refuseFolder(store: Pick<OutputStore, 'sweep'>, path: string): void {
  if (!isFolder(path) || store.sweep !== undefined) return;
  throw new ConfigError(
    'OUTPUT_IS_FOLDER',
    `output.path ${path} is a folder, and this output store has none`,
    {
      hint: 'write the path of a file; or let the store have the method sweep (docs/ports.md)',
      facts: { path },
    },
  );
}

/**
 * The store. Before each change it checks whether this process may still make it.
 * @param expectOurs throws if it may not.
 */
function createWatchedStore(store: OutputStore, expectOurs: () => Promise<void>): OutputStore {
  return {
    put: async (localFile, name, mode, cut) => {
      await expectOurs();
      return store.put(localFile, name, mode, cut);
    },
    remove: async (name) => {
      await expectOurs();
      await store.remove(name);
    },
    checkWritable: async (names) => {
      await expectOurs();
      await store.checkWritable(names);
    },
    identity: (name) => store.identity(name),
    read: (name, bytes) => store.read(name, bytes),
    stream: (name) => store.stream(name),
    check: (names, sources, own) => store.check(names, sources, own),
    prepare: (names) => store.prepare(names),
    names: async (folder) => (await store.names?.(folder)) ?? [],
    sweep: async (output, pipeline, kept) => {
      await expectOurs();
      await store.sweep?.(output, pipeline, kept);
    },
  };
}

const noLock: HeldLock = { close: async () => undefined };

/** Takes a lease, which a process on another machine sees too. */
async function lockShared(outputs: PipelineLock, path: string, holder: LockHolder): Promise<HeldLock> {
  try {
    return await outputs.take(path, holder);
  } catch (error) {
    if (!(error instanceof LeaseHeldError)) throw error;
    const { pid, command, since } = error.facts;
    const other = { pid: Number(pid), command: String(command), since: Date.parse(String(since)) };
    const { code, message, facts, hint } = outputLocked(path, {
      kind: 'taken',
      ...(error.facts.here === true && { here: true }),
      holder: pid === undefined ? undefined : other,
    });
    throw new LeaseHeldError(code, message, { facts, hint: hint! }, error);
  }
}

async function lockLocal(path: string, holder: LockHolder, logger: Logger): Promise<HeldLock> {
  const failed = (cause: unknown) => {
    throw lockFailed(path, cause);
  };
  const locking = await lockOutput(anchorOf(path), holder).catch(failed);
  if (locking.kind === 'taken') throw outputLocked(path, locking);
  if (locking.kind === 'held') {
    const { lock } = locking;
    const expectHeld = async () => {
      const taken = await lock.renew().catch(failed);
      if (taken !== undefined) throw outputLocked(path, taken);
    };
    return { expectHeld, close: () => lock.close() };
  }
  logger.debug(
    { path },
    `the disk of ${path} has no locks: another pipeline that writes it is not noticed before it publishes`,
  );
  return noLock;
}

const WAIT_FOR_IT = 'wait until it ends (--wait-lock does); two pipelines need another output.path each';
const CLOSE_IT =
  'close the run that this process has open with this output, or await its job, and call again (the option waitLock waits for it); two pipelines need another output.path each';

function outputLocked(path: string, { holder, here = false }: Taken): LockedError {
  const from = holder === undefined ? '' : ` since ${new Date(holder.since).toISOString()}`;
  return new LockedError('OUTPUT_LOCKED', `${nameOf(holder, here)} has been writing ${path}${from}`, {
    hint: here ? CLOSE_IT : WAIT_FOR_IT,
    facts: {
      path,
      ...(holder && { pid: holder.pid, command: escapeUnprintable(holder.command) }),
      ...(here && { here }),
    },
  });
}

/** @param holder undefined while the lock is being freed: the file with the holder is removed first. */
function nameOf(holder: LockHolder | undefined, here: boolean): string {
  if (holder === undefined) return here ? 'this process' : 'another process';
  const { pid, command } = holder;
  return `${here ? 'this process, ' : 'process '}${pid} (${escapeUnprintable(command)})${here ? ',' : ''}`;
}

function lockFailed(path: string, cause: unknown): unknown {
  if (isPassingTrouble(cause)) return cause;
  const lock = outputLockPath(anchorOf(path));
  return new ConfigError('OUTPUT_LOCK_FAILED', `${lock} cannot be locked (${codeOf(cause)})`, {
    hint: 'a run of another user holds it, or was killed: wait until it ends; if there is none, remove the file and run the same command again',
    facts: { path, lock },
    cause,
  });
}
