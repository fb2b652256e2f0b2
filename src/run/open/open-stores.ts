/**
 * Opens what a state keeps in files: parts, stored answers and what deltas need, on this disk or where every machine
 * sees them.
 */
import { join } from 'node:path';
import type { PostgresState } from '../../checkpoint/postgres/open-postgres-state.js';
import type { Config } from '../../config/schema.js';
import type { DatabaseAddress } from '../../config/sections/load-section.js';
import { copiesFolder } from '../../config/sections/state-section.js';
import type { DeltaStore } from '../../delta/delta-store.js';
import { createLocalDeltaStore } from '../../delta/local-delta-store.js';
import { createLocalFiles } from '../../files/local-run-files.js';
import { createSplitFiles, type FileStore } from '../../files/run-files.js';
import type { SharedFiles } from '../../files/shared-files.js';
import type { AnswerStore } from '../../reuse/answer-store.js';
import { createLocalAnswerStore } from '../../reuse/local-answer-store.js';
import type { SharedCopies } from '../../spool/shared-copies.js';
import { loadPostgres } from '../state-reader.js';

/** What a state keeps besides its checkpoint and its parts. */
export interface Stores {
  /** The answers of earlier runs. */
  readonly answers: AnswerStore;
  /** What is kept of each pipeline's last publication. */
  readonly deltas: DeltaStore;
  /** Copies of sources where every machine finds them; undefined for a state on the local disk. */
  readonly copies?: SharedCopies;
}

/** The config's keys that say where files of the state are. */
export type FilesPlace = Pick<Config, 'stateDir' | 'files' | 'state'>;

/** What stores need of a state in Postgres. */
type Database = Pick<PostgresState, 'openParts' | 'fence'>;

/** The stores of a state on the local disk. */
export function localStores(stateDir: string): Stores {
  return {
    answers: createLocalAnswerStore(join(stateDir, 'reuse')),
    deltas: createLocalDeltaStore(stateDir),
  };
}

/** @param database of the state; undefined for a state on the local disk. */
export async function openStores(place: FilesPlace, database: Database | undefined): Promise<Stores> {
  const { stateDir, state } = place;
  if (state === null || database === undefined) return localStores(stateDir);
  const [shared, cached, { createSharedAnswerStore }, { createSharedDeltaStore }, { createSharedCopies }] =
    await Promise.all([
      openSharedFiles({ ...place, state }, database),
      import('../../files/file-cache.js'),
      import('../../reuse/shared-answer-store.js'),
      import('../../delta/shared-delta-store.js'),
      import('../../spool/shared-copies.js'),
    ]);
  const cache = cached.createFileCache(shared, copiesFolder(place));
  return {
    answers: createSharedAnswerStore(shared, cache),
    deltas: createSharedDeltaStore(shared, cache),
    copies: createSharedCopies(shared, cache),
  };
}

/** The files of a state in Postgres that every machine sees. */
export async function openSharedFiles(
  { state, files }: Pick<Config, 'files'> & { readonly state: DatabaseAddress },
  { openParts, fence }: Database,
): Promise<SharedFiles> {
  const { createSharedFiles } = await import('../../files/postgres/shared-names.js');
  return createSharedFiles({ open: openParts, place: String(state), fence, folder: files });
}

/** Runs a body with the stores of a state that this process only reads. Takes no lock. */
export async function withStores<T>(place: FilesPlace, body: (stores: Stores) => Promise<T>): Promise<T> {
  const { state, stateDir } = place;
  if (state === null) return body(localStores(stateDir));
  const { openConnection } = await loadPostgres();
  let opened: ReturnType<typeof openConnection> | undefined;
  const openParts = () => {
    opened ??= openConnection(state);
    return opened;
  };
  try {
    return await body(await openStores(place, { openParts, fence: { held: undefined } }));
  } finally {
    await (await opened?.catch(() => undefined))?.close();
  }
}

/** The files of runs: on this disk, or parts where every machine sees them. */
export async function openFiles(
  { pipeline, stateDir, files }: Pick<Config, 'pipeline' | 'stateDir' | 'files'>,
  database: PostgresState | undefined,
): Promise<FileStore> {
  const local = createLocalFiles(stateDir);
  if (database === undefined) return local;
  if (files !== null) return createSplitFiles(local, createLocalFiles(files), database.expectHeld);
  const { createPostgresParts, removeUnnamedPieces } = await import('../../files/postgres/postgres-parts.js');
  await removeUnnamedPieces(database, pipeline);
  return createSplitFiles(
    local,
    createPostgresParts(database.openParts, database.fence),
    database.expectHeld,
  );
}
