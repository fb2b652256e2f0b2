/** The state of a config, wherever it is: reading it, and who works on it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { AccountState } from '../checkpoint/account-state.js';
import type { CheckpointReader } from '../checkpoint/checkpoint.js';
import { type CopyMark, readCopyMark, refuseMarked } from '../checkpoint/copy/copy-mark.js';
import type { WorkingProcess } from '../checkpoint/pipeline-lock.js';
import { openCheckpointReader } from '../checkpoint/sqlite/open-sqlite-checkpoint.js';
import { findHolder } from '../checkpoint/sqlite/pipeline-lock.js';
import type { Config } from '../config/schema.js';
import { ConfigError } from '../errors.js';
import { countOf } from '../quantities.js';

type Place = Pick<Config, 'stateDir' | 'state'>;

/** Loaded only for a state in Postgres. */
export const loadPostgres = () => import('../checkpoint/postgres/open-postgres-state.js');

/** A state that is opened for reading. */
export interface StateReader extends CheckpointReader {
  /** The process that works on a pipeline now, on any machine; undefined if there is none. */
  worker(pipeline: string): Promise<WorkingProcess | undefined>;
  close(): Promise<void>;
}

/**
 * Opens the state for reading. Takes no lock and changes nothing.
 * @returns undefined when there is no state yet.
 * @throws the errors of `openCheckpointReader`; of a database ConfigError `STATE_DATABASE_REFUSED`,
 *   `STATE_DATABASE_MISSING` and TroubleError `STATE_DATABASE_LOST`.
 */
export async function openStateReader({ stateDir, state }: Place): Promise<StateReader | undefined> {
  if (state !== null) return (await loadPostgres()).openPostgresReader(state);
  const reader = await openCheckpointReader(stateDir);
  return reader && { ...reader, worker: (pipeline) => findHolder(stateDir, pipeline) };
}

/** What the account of a service does now; undefined if each process has limits of its own. */
export async function findAccount({ state }: Place, service: string): Promise<AccountState | undefined> {
  return state === null ? undefined : (await loadPostgres()).findAccountState(state, service);
}

/** The mark of a state that was copied; undefined if runs go on in it. */
export async function findMove({ stateDir, state }: Place): Promise<CopyMark | undefined> {
  const mark = state === null ? readCopyMark(stateDir) : await (await loadPostgres()).findMark(state);
  return mark?.mark === 'moved' ? mark : undefined;
}

/**
 * Refuses a state that was copied to another place, as the beginning of a run does.
 * @throws ConfigError `STATE_MOVED`.
 */
export async function refuseMoved(place: Place): Promise<void> {
  refuseMarked(String(place.state ?? place.stateDir), await findMove(place), 'change');
}

/**
 * Refuses a state in a database while `stateDir` has runs of the pipeline that were not copied into it: they would be
 * paid for again. Rehearsals are not paid for, and do not count. Reads only that folder.
 * @throws ConfigError `STATE_IN_FOLDER`; the errors of `openCheckpointReader`.
 */
export async function refuseStateInFolder({
  stateDir,
  state,
  pipeline,
}: Place & Pick<Config, 'pipeline'>): Promise<void> {
  if (state === null || !existsSync(join(stateDir, 'checkpoint.db'))) return;
  // The runs of the folder go on elsewhere, or are still being copied back into it.
  const mark = readCopyMark(stateDir)?.mark;
  if (mark === 'moved' || mark === 'copying') return;
  const reader = await openCheckpointReader(stateDir);
  const runs = (await reader?.runs(pipeline).finally(() => reader.close())) ?? [];
  const paid = runs.filter(({ rehearsal }) => !rehearsal);
  if (paid.length === 0) return;
  const { origin = null } = state;
  throw new ConfigError(
    'STATE_IN_FOLDER',
    `${stateDir} holds ${countOf(paid.length, 'run')} of ${pipeline} that ${state} does not know (state is set by ${origin ?? 'the config'}); nothing was sent, because all would be paid for again`,
    { facts: { stateDir, database: String(state), origin, pipeline, runs: paid.length } },
  );
}

/** The error for a command that needs a state where there is none: nothing was run yet, or the state is gone. */
export function stateMissing({ stateDir, state }: Place): ConfigError {
  const text = `${state ?? stateDir} holds no state`;
  if (state === null) return new ConfigError('STATE_MISSING', text);
  const hint =
    'if nothing was run yet, begin with: foliopipe run; otherwise correct the database in state, or put the state back';
  return new ConfigError('STATE_MISSING', text, { hint });
}

/** The database of a state. A program that names only a folder leaves it out. */
export type MaybeInDatabase = Partial<Pick<Config, 'state'>>;

/**
 * Refuses a command that works on the files of a state on a local disk.
 * @throws ConfigError `STATE_IN_DATABASE`.
 */
export function refuseDatabase({ state }: MaybeInDatabase, command: string): void {
  if (state == null) return;
  throw new ConfigError(
    'STATE_IN_DATABASE',
    `${command} works on the files of a state in stateDir, and this one is in ${state}`,
    { facts: { database: String(state) } },
  );
}
