/** Locks a pipeline and opens the checkpoint, for every command that changes state. */
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import {
  type HeldLock,
  LeaseHeldError,
  type LockHolder,
  type PipelineLock,
} from '../../checkpoint/pipeline-lock.js';
import type { HearTrouble } from '../../checkpoint/postgres/lease.js';
import type { PostgresState } from '../../checkpoint/postgres/open-postgres-state.js';
import { holderHere } from '../../checkpoint/sqlite/lock-file.js';
import { openSqliteCheckpoint } from '../../checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createFileLock } from '../../checkpoint/sqlite/pipeline-lock.js';
import type { Config } from '../../config/schema.js';
import { LockedError } from '../../errors.js';
import type { FileStore } from '../../files/run-files.js';
import type { Logger } from '../../logger.js';
import type { OnProgress } from '../../progress/events.js';
import { guardListeners, guardLogger } from '../../progress/guard-listeners.js';
import { formatDuration } from '../../quantities.js';
import type { AnswerStore } from '../../reuse/answer-store.js';
import { withStopErrors } from '../../streams/abortable.js';
import { type Clock, systemClock } from '../../streams/clock.js';
import { withAnySignal } from '../../streams/time-limit.js';
import type { Milliseconds } from '../../types.js';
import type { RunOptions, RunPorts } from '../run-options.js';
import { loadPostgres } from '../state-reader.js';
import { type FilesPlace, openFiles, openStores, type Stores } from './open-stores.js';
import { createReleasers, type Releasers } from './releasers.js';

type StateOptions = Pick<RunOptions, 'holder' | 'waitLock' | 'signal' | 'onProgress' | keyof RunPorts>;

/** What work on the state needs besides its config. */
export interface StateContext {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** The config's keys that say where the state is. */
type StateConfig = Pick<Config, 'pipeline' | 'stateDir' | 'state' | 'files'>;

/** The state of a pipeline while its lock is held. */
export interface OpenState {
  readonly checkpoint: Checkpoint;
  readonly files: FileStore;
  readonly stores: Stores;
  readonly lock: HeldLock;
  /** The locks of outputs that all machines see; undefined if they are files beside the outputs. */
  readonly outputs: PipelineLock | undefined;
  /** The limits of the service's account, if other processes share them. */
  readonly account: PostgresState['account'] | undefined;
}

/**
 * @param releasers receives the lock first, then the checkpoint, so that the lock is released last.
 * @throws LockedError, ConfigError, TroubleError.
 */
export async function openState(
  config: StateConfig,
  options: Pick<StateOptions, 'holder' | 'waitLock' | 'lock' | 'checkpoint' | 'files' | 'onProgress'>,
  context: StateContext,
  releasers: Releasers,
): Promise<OpenState> {
  const { stateDir, pipeline } = config;
  const holder = holderHere(options.holder, context.clock.now());
  const database = await openDatabase(config, options, context.logger);
  if (database !== undefined) releasers.add(database);
  const { lock = database?.lock ?? createFileLock(stateDir), waitLock = 0, onProgress } = options;
  const held = await waitForLock(lock, { pipeline, holder, wait: waitLock, onProgress }, context);
  releasers.add(held);
  await database?.expectUsable();
  const files = options.files ?? (await openFiles(config, database));
  const stores = await openStores(config, database);
  const opened = { files, stores, lock: held, outputs: database?.outputs };
  const given = options.checkpoint ?? database?.checkpoint;
  if (given !== undefined) {
    // The account counts only what is done under its own leases.
    const account = options.lock === undefined ? database?.account : undefined;
    return { ...opened, checkpoint: given, account };
  }
  const checkpoint = await openSqliteCheckpoint(stateDir);
  releasers.add(checkpoint);
  return { ...opened, checkpoint, account: undefined };
}

/** Opens the state in Postgres, unless the config has none or the caller has a checkpoint of its own. */
async function openDatabase(
  { state }: Pick<Config, 'state'>,
  { checkpoint }: Pick<StateOptions, 'checkpoint'>,
  logger: Logger,
): Promise<PostgresState | undefined> {
  if (state === null || checkpoint !== undefined) return undefined;
  return (await loadPostgres()).openPostgresState(state, { hear: logTrouble(logger) });
}

/** Logs once that the database does not answer, and once that it answers again. */
function logTrouble(logger: Logger): HearTrouble {
  return (trouble, leftMs) => {
    if (trouble === undefined) return logger.info({}, 'the database of the state answers again');
    const reason = trouble instanceof Error ? trouble.message : String(trouble);
    const left = formatDuration(leftMs);
    logger.warn({ reason }, `${reason}; the run waits for it, and ends in ${left} unless it answers again`);
  };
}

/** Runs a body with what the caller has given for it: a signal with reasons of our own, and a logger that never throws. */
export function withContext<T>(
  { clock = systemClock, logger, signal: caller }: Pick<RunOptions, 'clock' | 'logger' | 'signal'>,
  body: (context: StateContext) => Promise<T>,
): Promise<T> {
  return withStopErrors(caller, (signal) => body({ clock, logger: guardLogger(logger), signal }));
}

/** Runs a body with the state of a pipeline. Needs neither source nor service. */
export async function withState<T>(
  config: StateConfig,
  handed: StateOptions,
  body: (state: AnswersState & Pick<OpenState, 'files'>) => Promise<T>,
): Promise<T> {
  const options = guardListeners(handed);
  return withContext(options, async (context) => {
    const { signal } = context;
    const releasers = createReleasers();
    try {
      const { checkpoint, files, lock, stores } = await openState(config, options, context, releasers);
      const { answers = stores.answers } = options;
      const { copies } = stores;
      const enders = lock.lost === undefined ? [signal] : [signal, lock.lost];
      return await withAnySignal(enders, (stop) =>
        body({ ...context, signal: stop, checkpoint, files, answers, copies }),
      );
    } finally {
      await releasers.close();
    }
  });
}

/** A checkpoint, the stored answers and the copies of sources, for work with them. */
interface AnswersState extends StateContext {
  readonly checkpoint: Checkpoint;
  readonly answers: AnswerStore;
  readonly copies: Stores['copies'];
}

/**
 * Runs a body with the checkpoint. Takes no lock: for changes that belong to no run, each of which is one transaction.
 */
export async function withCheckpoint<T>(
  config: FilesPlace,
  options: Pick<StateOptions, 'signal' | 'logger' | 'clock' | 'checkpoint'>,
  body: (
    state: StateContext &
      Pick<OpenState, 'account'> & { readonly checkpoint: Checkpoint; readonly stores: Stores },
  ) => Promise<T>,
): Promise<T> {
  return withContext(options, async (context) => {
    const database = await openDatabase(config, options, context.logger);
    const given = options.checkpoint ?? database?.checkpoint;
    const checkpoint = given ?? (await openSqliteCheckpoint(config.stateDir));
    try {
      const stores = await openStores(config, database);
      return await body({ ...context, checkpoint, stores, account: database?.account });
    } finally {
      await (database ?? (given === undefined ? checkpoint : undefined))?.close();
    }
  });
}

/**
 * Runs a body with the stored answers and their rows. Takes no lock: all pipelines share the answers, and each change of
 * a row is one transaction.
 */
export async function withAnswers<T>(
  config: FilesPlace,
  options: Pick<StateOptions, 'signal' | 'logger' | 'clock' | 'checkpoint' | 'answers'>,
  body: (state: AnswersState) => Promise<T>,
): Promise<T> {
  return withCheckpoint(config, options, ({ stores, ...state }) =>
    body({ ...state, answers: options.answers ?? stores.answers, copies: stores.copies }),
  );
}

interface LockRequest {
  readonly pipeline: string;
  readonly holder: LockHolder;
  /** How long to wait for the lock; 0 does not wait, Infinity waits for ever. */
  readonly wait: Milliseconds;
  readonly onProgress?: OnProgress | undefined;
}

/**
 * Takes the lock of a pipeline, and waits for it if needed. Closing it never fails: what goes wrong then is logged.
 * @throws LockedError when the lock is still held after the wait; the signal's reason.
 */
export async function waitForLock(
  lock: PipelineLock,
  { pipeline, holder, wait, onProgress }: LockRequest,
  { clock, signal, logger }: StateContext,
): Promise<HeldLock> {
  const until = clock.now() + wait;
  let lease: string | undefined;
  for (let isLogged = false; ; isLogged = true) {
    try {
      return withoutFailure(await lock.take(pipeline, holder), pipeline, logger);
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      // A lease that is not renewed has lost its holder: this process waits for its end, and takes it.
      const isStale =
        error instanceof LeaseHeldError &&
        error.facts.here !== true &&
        error.until === (lease ?? error.until);
      if (error instanceof LeaseHeldError) lease = error.until;
      const left = isStale ? Math.max(until - clock.now(), retryEveryMs) : until - clock.now();
      if (left <= 0) throw error;
      if (!isLogged) {
        const since = clock.now();
        const leaseMs = error instanceof LeaseHeldError ? error.leftMs : 0;
        const latest = Number.isFinite(wait) ? since + Math.max(wait, leaseMs) : null;
        const ends =
          leaseMs === 0
            ? ''
            : `; its lease ends in ${formatDuration(1000 * Math.ceil(leaseMs / 1000))} unless renewed`;
        onProgress?.({ type: 'waiting', on: 'lock', since, until: latest, why: `${error.message}${ends}` });
        logger.info({ pipeline }, `waiting for the lock: ${error.message}${ends}`);
      }
      await clock.sleep(Math.min(retryEveryMs, left), signal);
    }
  }
}

/** Work that is done does not fail because of what its lock leaves behind. */
function withoutFailure(lock: HeldLock, pipeline: string, logger: Logger): HeldLock {
  const close = () =>
    lock.close().catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      const what =
        lock.lost === undefined
          ? 'the lock is free, but its files cannot be removed'
          : `the lease of ${pipeline} could not be given back, and ends by itself`;
      logger.warn({ pipeline, reason }, `${what}: ${reason}`);
    });
  return { ...lock, close };
}

const retryEveryMs = 1_000;
