/**
 * The state in Postgres, for any number of machines: tables in the schema `foliopipe` for all pipelines. A run has one
 * connection for its checkpoint; all runs of a process have one for their leases and accounts. There is no journal: a
 * database server has its own.
 */

import type { DatabaseAddress } from '../../config/sections/load-section.js';
import type { Fence } from '../../postgres/fenced.js';
import { openSession, type PostgresSession, type SessionOptions } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { AccountState } from '../account-state.js';
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import { type CopyMark, refuseMarked } from '../copy/copy-mark.js';
import type { PipelineLock, WorkingProcess } from '../pipeline-lock.js';
import { chunkChanges } from '../rows/chunk-changes.js';
import { lateFolioChanges } from '../rows/late-folios.js';
import { publicationChanges } from '../rows/publication-changes.js';
import { runChanges } from '../rows/run-changes.js';
import { sharedReads } from '../rows/shared-reads.js';
import type { AccountWishes } from './account/member.js';
import { type Account, createAccount } from './account/open-account.js';
import { readAccount } from './account/read-account.js';
import { chunkRead, cutChange } from './chunks.js';
import { createLeases, type HearTrouble, leaseHolder, leaseTimes, OUTPUT } from './lease.js';
import { readMark } from './marks.js';
import { hasReadableTables, migrate, refuseNewer, refusePooler, schemaVersion } from './migrate.js';
import { resultChanges } from './results.js';
import { newRunChanges, runReads } from './runs.js';
import { searchChanges } from './searches.js';
import { spendingReads } from './spending.js';
import { createStateSession, type StateSession, sharedChanges } from './state-session.js';
import { migrations } from './tables.js';
import { driverMissing, translateStateError } from './translate-state-error.js';
import { uploadChanges, uploadReads } from './uploads.js';

/**
 * `search_path` finds the tables without the schema's name. Plans are made once, and use the indexes even while tables
 * are small. Where there is no index, such a plan seems so costly that the server would compile it each time (`jit`).
 */
const SETTINGS = `SET search_path = foliopipe; SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;
  SET jit = off;`;

export interface PostgresState {
  readonly checkpoint: Checkpoint;
  /** Its lease fences every change of the checkpoint. */
  readonly lock: PipelineLock;
  /** The lease, for other changes in the database. */
  readonly fence: Fence;
  /** The locks of outputs, by their paths. They are leases too, but fence nothing. */
  readonly outputs: PipelineLock;
  /** @throws LockedError `LEASE_LOST` if this process had a lease and has lost it. */
  expectHeld(): Promise<void>;
  /**
   * Called when the lease is held: the state may have been copied, or migrated, just before.
   * @throws ConfigError `STATE_MOVED`, `STATE_COPY_UNFINISHED`, `CHECKPOINT_NEWER`, `STATE_DATABASE_POOLED`.
   */
  expectUsable(): Promise<void>;
  /** The account of a pipeline whose lease is taken. */
  account(wishes: AccountWishes): Account;
  /** Opens one more connection, for parts; a second call returns the same one. */
  openParts(): Promise<PostgresSession>;
  /** Closes all its connections. */
  close(): Promise<void>;
}

export interface OpenOptions {
  /** The state is being copied: its mark is no error. */
  readonly isCopied?: boolean;
  readonly hear?: HearTrouble;
}

/**
 * Opens the state for writing and migrates its tables.
 * @throws ConfigError `STATE_DATABASE_MISSING`, `STATE_DATABASE_REFUSED`, `STATE_DATABASE_ENCODING`,
 *   `STATE_DRIVER_MISSING`, `CHECKPOINT_NEWER`, `STATE_MOVED`, `STATE_COPY_UNFINISHED`; LockedError `STATE_IN_USE`
 * @throws TroubleError `STATE_DATABASE_LOST`, `STATE_DATABASE_FAILED`, `STATE_DATABASE_FULL`,
 *   `STATE_DATABASE_READ_ONLY`, and ConfigError `STATE_DATABASE_DENIED`; these also from every method
 */
export async function openPostgresState(
  address: DatabaseAddress,
  { isCopied = false, hear }: OpenOptions = {},
): Promise<PostgresState> {
  const fence: Fence = { held: undefined };
  const givenUp = () => fence.loss?.();
  const session = await openConnection(address, { givenUp });
  const expectUnmoved = async () => refuseMarked(session.place, await readMark(session), 'change');
  try {
    await migrate(session, migrations);
    if (!isCopied) await expectUnmoved();
  } catch (error) {
    await session.close();
    throw error;
  }
  const db = createStateSession(session, fence);
  const openLeases = shareConnection(address);
  const accounts: Account[] = [];
  const leases = createLeases(openLeases, fence, leaseTimes(), hear);
  const outputs = createLeases(openLeases, { held: undefined });
  const openParts = once(() => openConnection(address, { givenUp }));
  return {
    checkpoint: { ...reads(db), ...changes(db), close: async () => undefined },
    lock: leases,
    fence,
    outputs: { take: (path, holder) => outputs.take(`${OUTPUT}${path}`, holder) },
    expectHeld: db.expectHeld,
    expectUsable: async () => {
      refuseNewer(session.place, await schemaVersion(session), migrations.length);
      await expectUnmoved();
      await refusePooler(session, await openLeases());
    },
    account: (wishes) => {
      const account = createAccount(openLeases, fence, wishes);
      accounts.push(account);
      return account;
    },
    openParts,
    close: async () => {
      for (const account of accounts) account.close();
      for (const open of [openParts, openLeases]) await open.close();
      await session.close();
    },
  };
}

/** The checkpoint, opened for reading. */
export interface PostgresReader extends CheckpointReader {
  /** The process that works on a pipeline now, on any machine; undefined if there is none. */
  worker(pipeline: string): Promise<WorkingProcess | undefined>;
  close(): Promise<void>;
}

/**
 * Opens the checkpoint for reading. Migrates nothing and creates nothing.
 * @returns undefined when there is no state yet.
 * @throws the errors of `openPostgresState`; ConfigError `CHECKPOINT_OLDER`.
 */
export async function openPostgresReader(address: DatabaseAddress): Promise<PostgresReader | undefined> {
  const session = await openConnection(address);
  try {
    if (!(await hasReadableTables(session, migrations.length))) {
      await session.close();
      return undefined;
    }
    refuseMarked(session.place, await readMark(session), 'read');
  } catch (error) {
    await session.close();
    throw error;
  }
  return {
    ...reads(createStateSession(session, { held: undefined })),
    worker: (pipeline) => leaseHolder(session, pipeline),
    close: session.close,
  };
}

/** Returns a connection, which is opened when it is first needed. */
type Opening = (() => Promise<PostgresSession>) & { close(): Promise<void> };

const sharedConnections = new Map<string, { readonly opening: Opening; users: number }>();

/** One connection for all users of this address, until the last of them closes it. */
function shareConnection(address: DatabaseAddress): Opening {
  const key = address.reveal();
  const shared = sharedConnections.get(key) ?? {
    opening: once(() => openShortConnection(address)),
    users: 0,
  };
  sharedConnections.set(key, shared);
  shared.users += 1;
  let isClosed = false;
  const close = async () => {
    if (isClosed) return;
    isClosed = true;
    shared.users -= 1;
    if (shared.users > 0) return;
    sharedConnections.delete(key);
    await shared.opening.close();
  };
  return Object.assign(() => shared.opening(), { close });
}

/** Opens a connection when it is first needed, and returns the same one afterwards. */
function once(open: () => Promise<PostgresSession>): Opening {
  let opened: Promise<PostgresSession> | undefined;
  const get = () => {
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  };
  return Object.assign(get, { close: async () => (await opened?.catch(() => undefined))?.close() });
}

/** What the account of a service does now; undefined if no pipeline of this state has worked with it. */
export async function findAccountState(
  address: DatabaseAddress,
  service: string,
): Promise<AccountState | undefined> {
  return ask(address, (session, version) =>
    version < migrations.length ? undefined : readAccount(session, service),
  );
}

/** The mark of a state that was copied, or is being copied; undefined if there is none. */
export async function findMark(address: DatabaseAddress): Promise<CopyMark | undefined> {
  return ask(address, (session, version) => (version < migrations.length ? undefined : readMark(session)));
}

/** Asks a state over a connection of its own. @param read receives the version of its tables, 0 if there are none. */
async function ask<T>(
  address: DatabaseAddress,
  read: (session: PostgresSession, version: number) => Promise<T> | undefined,
): Promise<T | undefined> {
  const session = await openConnection(address);
  try {
    return await read(session, await schemaVersion(session));
  } finally {
    await session.close();
  }
}

/**
 * Recording the outcome of a paid request is retried for as long as this number of leases lasts: a failover takes
 * minutes.
 */
const OUTCOME_LEASES = 20;

/** Opens one connection to the state, which finds its tables. */
export function openConnection(
  address: DatabaseAddress,
  { givenUp, answerMs = 2 * leaseTimes().lease }: Partial<Pick<SessionOptions, 'givenUp' | 'answerMs'>> = {},
): Promise<PostgresSession> {
  return openSession({
    address,
    settings: SETTINGS,
    patience: leaseTimes().lease,
    outcomePatience: OUTCOME_LEASES * leaseTimes().lease,
    answerMs,
    givenUp,
    driverMissing,
    translate: translateStateError,
  });
}

/**
 * Opens a connection for short statements only. If one gets no answer, another connection is tried early enough to
 * renew a lease over it.
 */
export function openShortConnection(address: DatabaseAddress): Promise<PostgresSession> {
  return openConnection(address, { answerMs: leaseTimes().lease / 2 });
}

function reads(db: StateSession): CheckpointReader {
  const read = <Row>(sql: string, isFresh?: boolean) => {
    const asked = statement<Row>(sql);
    return (values: Parameters<StateSession['read']>[1]) => db.read(asked, values, isFresh);
  };
  return {
    ...sharedReads(read, 'nth'),
    ...runReads(db),
    ...chunkRead(db),
    ...uploadReads(db),
    ...spendingReads(db),
  };
}

const begunUpload: Prepared<{ upload: string }> = statement(
  'SELECT upload FROM output_uploads WHERE name = @name',
);

function changes(db: StateSession): Omit<Checkpoint, keyof CheckpointReader | 'close'> {
  const make = sharedChanges(db);
  return {
    verifyPaid: async () => 'whole',
    ...newRunChanges(db),
    ...runChanges(make),
    ...cutChange(db),
    ...chunkChanges(make),
    ...uploadChanges(db),
    ...lateFolioChanges(make),
    ...resultChanges(db),
    ...searchChanges(db),
    ...publicationChanges(make),
    outputUpload: async (name) => (await db.read(begunUpload, { name }))[0]?.upload,
  };
}
