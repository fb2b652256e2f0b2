/** Copies a state in Postgres into a folder. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  readCopyMark,
  refuseMarked,
  removeCopyMark,
  writeCopyMark,
} from '../../checkpoint/copy/copy-mark.js';
import { copyRows, expectUnchanged } from '../../checkpoint/copy/copy-rows.js';
import { isEmptyState, postgresRows } from '../../checkpoint/copy/postgres-rows.js';
import { type NewSqliteState, openNewSqliteState } from '../../checkpoint/copy/sqlite-rows.js';
import type { HeldLock } from '../../checkpoint/pipeline-lock.js';
import { createLeases, pipelinesOf } from '../../checkpoint/postgres/lease.js';
import { readMark, removeMark, writeMark } from '../../checkpoint/postgres/marks.js';
import {
  openPostgresState,
  openShortConnection,
  type PostgresState,
} from '../../checkpoint/postgres/open-postgres-state.js';
import { isAlive, openFleetReader } from '../../checkpoint/postgres/workers.js';
import { createFileLock } from '../../checkpoint/sqlite/pipeline-lock.js';
import type { DatabaseAddress } from '../../config/sections/load-section.js';
import type { StatePlace } from '../../config/sections/state-section.js';
import { ConfigError, LockedError } from '../../errors.js';
import { createFileCache } from '../../files/file-cache.js';
import { createLocalFiles } from '../../files/local-run-files.js';
import { makeFolder } from '../../make-folder.js';
import { countOf } from '../../quantities.js';
import { waitForLock } from '../open/open-state.js';
import { openFiles, openSharedFiles } from '../open/open-stores.js';
import { createReleasers } from '../open/releasers.js';
import { stateMissing } from '../state-reader.js';
import type { CopiedState, CopyContext } from './copied-state.js';
import { copyParts, fetchFiles } from './copy-files.js';

/** @throws the errors of `copyState`. */
export async function copyToFolder(
  from: StatePlace,
  to: StatePlace,
  context: CopyContext,
): Promise<Omit<CopiedState, 'from' | 'to'>> {
  const { stateDir } = to;
  const { pipeline, holder, now } = context;
  const place = String(from.state);
  const releasers = createReleasers();
  try {
    const isUnfinished = isOurCopy(stateDir, place);
    makeFolder(stateDir, 0o700);
    releasers.add(await createFileLock(stateDir).take(pipeline, holder));
    const database = await openPostgresState(from.state!, { isCopied: true });
    releasers.add(database);
    const session = await database.openParts();
    const mark = await readMark(session);
    // The copy was stopped between the two marks, so it cannot be used: this state can be used again.
    if (isUnfinished && mark?.mark === 'moved' && mark.place === stateDir) await removeMark(session);
    else refuseMarked(place, mark, 'change');
    if (await isEmptyState(session)) throw stateMissing(from);
    await refuseWorkers(from.state!);
    const leases = await openShortConnection(from.state!);
    releasers.add(leases);
    const held = new Map<string, HeldLock>();
    const lockAll = async () => {
      for (const name of await pipelinesOf(leases, pipeline)) {
        if (held.has(name)) continue;
        // Each lease has an unused fence of its own, because nothing is changed under it.
        const lock = createLeases(async () => leases, { held: undefined });
        const one = await waitForLock(lock, { pipeline: name, holder, wait: 0 }, context);
        releasers.add(one);
        held.set(name, one);
      }
    };
    await lockAll();
    await writeCopyMark(stateDir, { mark: 'copying', place, at: now });
    for (const name of stateNames(stateDir)) rmSync(join(stateDir, name), { recursive: true, force: true });
    const target = openNewSqliteState(stateDir);
    const copied = await copyAll(from, stateDir, { database, target }, context).catch((error: unknown) => {
      target.discard();
      throw error;
    });
    for (const one of held.values()) await one.expectHeld?.();
    await target.putInPlace();
    await writeMark(session, { mark: 'moved', place: stateDir, at: now });
    try {
      // A pipeline without a lease may have begun before the mark was there, and may have ended since.
      await lockAll();
      await expectUnchanged(copied.tables, postgresRows(session));
    } catch (error) {
      await removeMark(session);
      throw error;
    }
    await removeCopyMark(stateDir);
    return copied;
  } finally {
    await releasers.close();
  }
}

async function copyAll(
  from: StatePlace,
  stateDir: string,
  { database, target }: { readonly database: PostgresState; readonly target: NewSqliteState },
  { signal, logger, pipeline }: CopyContext,
): Promise<Omit<CopiedState, 'from' | 'to'>> {
  const { checkpoint } = database;
  const rows = postgresRows(await database.openParts());
  const tables = await copyRows(rows, target.rows, signal);
  logger.info({ rows: tables.reduce((sum, one) => sum + one.rows, 0) }, 'all rows are copied and compared');
  const stores = {
    from: await openFiles({ ...from, pipeline }, database),
    to: createLocalFiles(stateDir),
    read: createLocalFiles(stateDir),
  };
  const parts = await copyParts(checkpoint, stores, signal);
  const shared = await openSharedFiles({ state: from.state!, files: from.files }, database);
  const answers = await fetchFiles(shared, createFileCache(shared, stateDir), checkpoint, signal);
  return { tables, parts, answers };
}

/** @throws LockedError `STATE_COPY_FLEET`: jobs of a fleet are not copied, and its workers would go on in the old state. */
async function refuseWorkers(address: DatabaseAddress): Promise<void> {
  const fleet = await openFleetReader(address);
  const workers = (await fleet?.workers().finally(fleet.close)) ?? [];
  const alive = workers.filter(isAlive);
  if (alive.length === 0) return;
  const what = `${countOf(alive.length, 'worker')} of a fleet`;
  throw new LockedError(
    'STATE_COPY_FLEET',
    `${what} ${alive.length === 1 ? 'works' : 'work'} with ${address}`,
    {
      hint: 'stop all workers with SIGTERM, which drains them, then type the same command again; jobs and schedules are not copied',
      facts: { database: String(address), workers: alive.length },
    },
  );
}

/**
 * @returns whether there is an unfinished copy of this database in the folder.
 * @throws ConfigError `STATE_NOT_EMPTY`, `STATE_MOVED`, `STATE_COPY_UNFINISHED`.
 */
function isOurCopy(stateDir: string, place: string): boolean {
  const mark = readCopyMark(stateDir);
  if (mark?.mark === 'copying' && mark.place === place) return true;
  refuseMarked(stateDir, mark, 'change');
  const names = stateNames(stateDir);
  if (names.length === 0) return false;
  throw new ConfigError('STATE_NOT_EMPTY', `${stateDir} holds a state: ${names.join(', ')}`, {
    hint: 'nothing was copied; name a folder that does not exist',
    facts: { stateDir },
  });
}

/** The names in a folder that belong to a state. */
function stateNames(stateDir: string): readonly string[] {
  let names: string[] = [];
  try {
    names = readdirSync(stateDir);
  } catch {
    // The folder is made later, and that call reports what is wrong with it.
  }
  return names.filter((name) => /^(checkpoint\.db.*|searches\.log|runs|reuse|deltas|spool)$/.test(name));
}
