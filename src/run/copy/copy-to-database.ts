/** Copies a state in a folder into Postgres: into an empty state, or beside other pipelines. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import {
  readCopyMark,
  refuseMarked,
  removeCopyMark,
  writeCopyMark,
} from '../../checkpoint/copy/copy-mark.js';
import { copyRows, expectUnchanged } from '../../checkpoint/copy/copy-rows.js';
import { emptyState, isEmptyState, postgresRows } from '../../checkpoint/copy/postgres-rows.js';
import { sqliteRows } from '../../checkpoint/copy/sqlite-rows.js';
import { readMark, removeMark, writeMark } from '../../checkpoint/postgres/marks.js';
import { openPostgresState, type PostgresState } from '../../checkpoint/postgres/open-postgres-state.js';
import { openReadingConnection } from '../../checkpoint/sqlite/open-for-reading.js';
import { openSqliteCheckpoint } from '../../checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createFileLock, lockedPipelines } from '../../checkpoint/sqlite/pipeline-lock.js';
import type { StatePlace } from '../../config/sections/state-section.js';
import { createLocalFiles } from '../../files/local-run-files.js';
import type { SharedFiles } from '../../files/shared-files.js';
import { refuseUnconfirmed } from '../backup/restored-mark.js';
import { waitForLock } from '../open/open-state.js';
import { openFiles, openSharedFiles } from '../open/open-stores.js';
import { createReleasers } from '../open/releasers.js';
import { stateMissing } from '../state-reader.js';
import { type AddedState, addToDatabase, finishAddition } from './add-to-database.js';
import type { CopiedState, CopyContext } from './copied-state.js';
import { copyParts, shareFiles } from './copy-files.js';

/** @throws the errors of `copyState`. */
export async function copyToDatabase(
  from: StatePlace,
  to: StatePlace,
  context: CopyContext,
): Promise<Omit<CopiedState, 'from' | 'to'>> {
  const { stateDir } = from;
  const { pipeline, holder, now } = context;
  const releasers = createReleasers();
  try {
    const database = await openPostgresState(to.state!, { isCopied: true });
    releasers.add(database);
    // The fence of this lease protects everything that is written.
    releasers.add(await waitForLock(database.lock, { pipeline: 'state copy', holder, wait: 0 }, context));
    const shared = await openSharedFiles({ state: to.state!, files: to.files }, database);
    const place = shared.place;
    const session = await database.openParts();
    const isUnfinished = await isOurCopy(session, place, stateDir);
    if (!existsSync(join(stateDir, 'checkpoint.db'))) throw stateMissing(from);
    const mark = readCopyMark(stateDir);
    // The copy was stopped between the two marks, so it cannot be used: this state can be used again.
    if (isUnfinished && mark?.mark === 'moved' && mark.place === place) await removeCopyMark(stateDir);
    if (mark?.mark === 'moving' && mark.place === place) await finishAddition(stateDir, database);
    const held = new Set<string>();
    const lockAll = async () => {
      for (const name of [pipeline, ...lockedPipelines(stateDir)]) {
        if (held.has(name)) continue;
        releasers.add(await createFileLock(stateDir).take(name, holder));
        held.add(name);
      }
    };
    await lockAll();
    const checkpoint = await openSqliteCheckpoint(stateDir);
    releasers.add(checkpoint);
    await refuseUncertain(stateDir, checkpoint, context);
    if (!isUnfinished && !(await isEmptyState(session))) {
      return await addToDatabase(from, to, { checkpoint, database, shared, releasers, lockAll }, context);
    }
    await writeMark(session, { mark: 'copying', place: stateDir, at: now });
    if (isUnfinished) await empty(shared, database);
    const seal = () => writeCopyMark(stateDir, { mark: 'moved', place, at: now });
    const copied = await copyAll(from, to, { checkpoint, database, shared, seal, lockAll }, context);
    await removeMark(session);
    return copied;
  } finally {
    await releasers.close();
  }
}

async function copyAll(
  { stateDir }: StatePlace,
  to: StatePlace,
  {
    checkpoint,
    database,
    shared,
    seal,
    lockAll,
  }: Pick<AddedState, 'checkpoint' | 'database' | 'shared' | 'lockAll'> & {
    /** Marks the state that was copied. */
    seal(): Promise<void>;
  },
  { signal, logger, pipeline }: CopyContext,
): Promise<Omit<CopiedState, 'from' | 'to'>> {
  const connection = openReadingConnection(join(stateDir, 'checkpoint.db'))!;
  try {
    const rows = sqliteRows(connection);
    const tables = await copyRows(rows, postgresRows(await database.openParts()), signal);
    logger.info({ rows: tables.reduce((sum, one) => sum + one.rows, 0) }, 'all rows are copied and compared');
    const openTarget = () => openFiles({ ...to, pipeline }, database);
    const stores = { from: createLocalFiles(stateDir), to: await openTarget(), read: await openTarget() };
    const parts = await copyParts(checkpoint, stores, signal);
    const answers = await shareFiles(stateDir, shared, checkpoint, signal);
    await seal();
    try {
      // A pipeline without a lock may have begun before the mark was there, and may have ended since.
      await lockAll();
      await expectUnchanged(tables, rows);
    } catch (error) {
      await removeCopyMark(stateDir);
      throw error;
    }
    return { tables, parts, answers };
  } finally {
    connection.close();
  }
}

/**
 * @returns whether there is an unfinished copy of this state in the database.
 * @throws ConfigError `STATE_MOVED`, `STATE_COPY_UNFINISHED`.
 */
async function isOurCopy(
  session: Parameters<typeof readMark>[0],
  place: string,
  stateDir: string,
): Promise<boolean> {
  const mark = await readMark(session);
  if (mark?.mark === 'copying' && mark.place === stateDir) return true;
  refuseMarked(place, mark, 'change');
  return false;
}

/** Removes what a copy that was stopped has left. */
async function empty(shared: SharedFiles, database: PostgresState): Promise<void> {
  await shared.remove((await shared.list('')).map(({ name }) => name));
  await emptyState(await database.openParts());
}

/** @throws the errors of `copyState` about a state that may not know all that was paid for. */
async function refuseUncertain(
  stateDir: string,
  checkpoint: Checkpoint,
  { logger }: CopyContext,
): Promise<void> {
  const runs = await checkpoint.runs();
  for (const pipeline of new Set(runs.map((run) => run.pipeline))) {
    await refuseUnconfirmed({ stateDir, pipeline }, {}, logger);
  }
  for (const { id, prunedAt } of runs) if (prunedAt === null) await checkpoint.verifyPaid(id);
}
