/**
 * Adds a state in a folder to one in Postgres that other pipelines use, and that go on meanwhile. The files are copied
 * first, when no row names them yet, and then all rows in one transaction. The folder is marked before it, so that the
 * folder is not used while it is not known whether the rows are there.
 */
import { join } from 'node:path';
import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import { removeCopyMark, writeCopyMark } from '../../checkpoint/copy/copy-mark.js';
import { copyRows, expectUnchanged } from '../../checkpoint/copy/copy-rows.js';
import {
  addedRows,
  hasRowsOf,
  pipelinesOfRows,
  pipelinesThere,
} from '../../checkpoint/copy/postgres-rows.js';
import { sqliteRows } from '../../checkpoint/copy/sqlite-rows.js';
import { createLeases } from '../../checkpoint/postgres/lease.js';
import { openShortConnection, type PostgresState } from '../../checkpoint/postgres/open-postgres-state.js';
import { openReadingConnection } from '../../checkpoint/sqlite/open-for-reading.js';
import type { StatePlace } from '../../config/sections/state-section.js';
import { ConfigError } from '../../errors.js';
import { createLocalFiles } from '../../files/local-run-files.js';
import type { SharedFiles } from '../../files/shared-files.js';
import { waitForLock } from '../open/open-state.js';
import { openFiles } from '../open/open-stores.js';
import type { Releasers } from '../open/releasers.js';
import type { CopiedState, CopyContext } from './copied-state.js';
import { copyParts, shareFiles } from './copy-files.js';

const BEGIN = 'BEGIN';

export interface AddedState {
  readonly checkpoint: Checkpoint;
  readonly database: PostgresState;
  readonly shared: SharedFiles;
  readonly releasers: Releasers;
  /** Locks the pipelines of the folder that are not locked yet. */
  lockAll(): Promise<void>;
}

/** @throws the errors of `copyState`. */
export async function addToDatabase(
  { stateDir }: StatePlace,
  to: StatePlace,
  { checkpoint, database, shared, releasers, lockAll }: AddedState,
  context: CopyContext,
): Promise<Omit<CopiedState, 'from' | 'to'>> {
  const { place } = shared;
  const { signal, logger, holder, now, pipeline } = context;
  const session = await database.openParts();
  if ((await checkpoint.segments()).length > 0) throw answersThere(place, stateDir);
  const connection = openReadingConnection(join(stateDir, 'checkpoint.db'))!;
  releasers.add({ close: async () => void connection.close() });
  const rows = sqliteRows(connection);
  const pipelines = await pipelinesOfRows(rows);
  const leases = await openShortConnection(to.state!);
  releasers.add(leases);
  for (const name of pipelines) {
    // Each lease has an unused fence of its own, because nothing is changed under it.
    const lock = createLeases(async () => leases, { held: undefined });
    releasers.add(await waitForLock(lock, { pipeline: name, holder, wait: 0 }, context));
  }
  const known = await session.transaction(BEGIN, (query) => pipelinesThere(query, pipelines));
  refuseKnown(known, place);
  const openTarget = () => openFiles({ ...to, pipeline }, database);
  const stores = { from: createLocalFiles(stateDir), to: await openTarget(), read: await openTarget() };
  const parts = await copyParts(checkpoint, stores, signal);
  const answers = await shareFiles(stateDir, shared, checkpoint, signal, isOfRuns);
  const mark = { place, at: now } as const;
  await writeCopyMark(stateDir, { ...mark, mark: 'moving' });
  try {
    // A pipeline without a lock may have begun before the mark was there.
    await lockAll();
    const tables = await session.transaction(BEGIN, async (query) => {
      refuseKnown(await pipelinesThere(query, pipelines), place);
      const copied = await copyRows(rows, addedRows(query), signal);
      // A search, which takes no lock, may have been begun before the mark.
      await expectUnchanged(copied, rows);
      return copied;
    });
    await writeCopyMark(stateDir, { ...mark, mark: 'moved' });
    logger.info({ rows: tables.reduce((sum, one) => sum + one.rows, 0) }, 'all rows are copied and compared');
    return { tables, parts, answers };
  } catch (error) {
    // If the database does not answer, the next call finds out whether the rows are there.
    await finishAddition(stateDir, database).catch(() => undefined);
    throw error;
  }
}

/**
 * Finds out whether the rows of a folder that is marked as moving are in the database, and marks the folder as moved, or
 * removes the mark.
 */
export async function finishAddition(stateDir: string, database: PostgresState): Promise<void> {
  const session = await database.openParts();
  const connection = openReadingConnection(join(stateDir, 'checkpoint.db'))!;
  try {
    // Not its pipelines: a run of the same name may have begun there since.
    const isThere = await session.transaction(BEGIN, (query) => hasRowsOf(query, sqliteRows(connection)));
    if (isThere) await writeCopyMark(stateDir, { mark: 'moved', place: session.place, at: Date.now() });
    else await removeCopyMark(stateDir);
  } finally {
    connection.close();
  }
}

/** Two histories of a pipeline cannot become one: their publications have the same numbers. */
function refuseKnown(known: readonly string[], place: string): void {
  if (known.length === 0) return;
  throw new ConfigError(
    'STATE_COPY_PIPELINES',
    `${place} has runs of ${known.slice(0, 5).join(', ')} already, and two histories of a pipeline cannot become one`,
    { facts: { database: place, pipelines: known.join(', ') } },
  );
}

/** All files except the stored answers, and the secret with which they are found. */
function isOfRuns(name: string): boolean {
  return !/^reuse\/(?:secret$|segments\/)/.test(name);
}

function answersThere(place: string, stateDir: string): ConfigError {
  return new ConfigError(
    'STATE_COPY_ANSWERS',
    `${stateDir} has stored answers, and ${place} holds a state: the answers of each state are found with a secret of its own`,
    { facts: { database: place, state: stateDir } },
  );
}
