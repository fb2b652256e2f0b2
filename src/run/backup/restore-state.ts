/**
 * Restores a backed-up state and brings it together with what has survived in the state folder. Invariant: nothing of
 * the old state is removed; what is replaced is kept under another name.
 */

import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { checkCall } from '../../check-call.js';
import { runsWithFiles } from '../../checkpoint/journal/files-in-state.js';
import { addSearches } from '../../checkpoint/journal/search-journal.js';
import { lockedError } from '../../checkpoint/pipeline-lock.js';
import { asideEnding } from '../../checkpoint/recovery/recovered-database.js';
import { type CopiedDatabase, checkDatabaseCopy } from '../../checkpoint/sqlite/copy-database.js';
import { holderHere } from '../../checkpoint/sqlite/lock-file.js';
import {
  createFileLock,
  findHolder,
  lockedPipelines,
  withAllPipelinesStopped,
} from '../../checkpoint/sqlite/pipeline-lock.js';
import { refuseNetworkFolder } from '../../checkpoint/sqlite/refuse-network-folder.js';
import { translateStateError } from '../../checkpoint/sqlite/translate-state-error.js';
import type { Config } from '../../config/schema.js';
import { ConfigError, FoliopipeError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';
import { readHead, textIn } from '../../report/output-head.js';
import { syncFolder } from '../../streams/atomic-file.js';
import { hashFile } from '../../streams/file-identity.js';
import { readBeginning } from '../../streams/read-pieces.js';
import { namesIn } from '../../streams/system-error.js';
import { escapeUnprintable } from '../../text.js';
import { type StateContext, waitForLock, withContext } from '../open/open-state.js';
import { createReleasers } from '../open/releasers.js';
import type { RunOptions } from '../run-options.js';
import { type MaybeInDatabase, refuseDatabase } from '../state-reader.js';
import { copyFile, DATABASE, isJournal, SEARCHES, SECRET } from './backup-files.js';
import {
  type BackedUpFile,
  type BackupList,
  checkBackedUpFiles,
  damagedBackup,
  readBackupList,
} from './backup-list.js';
import { chooseJournal, holdsNothing, type JournalChoice, knowsPayments } from './journal-payments.js';
import { type Recovered, rebuildAll } from './recover.js';
import { isRestoring, markRestored, markRestoring } from './restored-mark.js';

/** How a backup is restored. */
export interface RestoreOptions extends Pick<RunOptions, 'signal' | 'logger' | 'holder' | 'clock'> {
  /** The folder of the backup. */
  readonly folder: string;
  /** Restore although the state folder holds a state: its database is set aside, and what only it knows is kept. */
  readonly replace?: boolean | undefined;
  /** Only check the backup. */
  readonly dryRun?: boolean | undefined;
}

/** What was restored. */
export interface Restored {
  readonly createdAt: number;
  readonly results: boolean;
  readonly runs: BackupList['runs'];
  readonly files: number;
  /** What was brought together from the journals; null after a dry run. */
  readonly recovered: Recovered | null;
  /**
   * Whether everything that was paid for is known: the old database was still in the state folder, undamaged, and agreed
   * with the journals. Otherwise payments after the backup may be unknown, and the next command that pays asks first.
   */
  readonly isComplete: boolean;
  /** Outputs in place that were published after the backup. */
  readonly newerOutputs: readonly NewerOutput[];
  /** After a dry run: why the restore would be refused now; null if it would not be. */
  readonly refusal: { readonly code: string; readonly message: string; readonly hint: string | null } | null;
  /** Paths under which replaced files are kept. */
  readonly aside: readonly string[];
}

/**
 * Checks every byte of the backup first, then restores it, and rebuilds from the journals what the database does not
 * know. Sends no request.
 * @throws LockedError while a run of any pipeline is working; ConfigError `BACKUP_MISSING`, `BACKUP_DAMAGED`,
 *   `BACKUP_NEWER`, `STATE_NOT_EMPTY`, `RESTORE_JOURNALS_DIFFER`, those of `recover`; TroubleError `DISK_FULL`.
 */
export async function restoreState(
  config: Pick<Config, 'stateDir' | 'pipeline'> & MaybeInDatabase,
  options: RestoreOptions,
): Promise<Restored> {
  checkCall('restoreState', { place: config, needs: options, folder: options?.folder });
  refuseDatabase(config, 'foliopipe state restore');
  return withContext(options, (context) => restoreFolder(config, options, context));
}

async function restoreFolder(
  { stateDir, pipeline }: Pick<Config, 'stateDir' | 'pipeline'>,
  options: RestoreOptions,
  context: StateContext,
): Promise<Restored> {
  const { clock, signal } = context;
  const folder = resolve(options.folder);
  const list = readBackupList(folder);
  await checkBackedUpFiles(folder, list);
  const database = checkDatabaseCopy(join(folder, DATABASE));
  const outputs = await newerOutputs(database.publications);
  const { createdAt, results, runs } = list;
  const report = { createdAt, results, runs, files: list.files.length, newerOutputs: outputs };
  // What an unfinished restore of this backup has left does not count as a state, nor does a state that holds nothing.
  const mayReplace =
    options.replace === true || isRestoring(stateDir, folder, createdAt) || holdsNothing(stateDir);
  if (options.dryRun) {
    const refusal = await refusalOf(async () => {
      await refuseWorking(stateDir);
      refuseState(stateDir, mayReplace);
      chooseJournals(folder, stateDir, list);
    });
    return { ...report, refusal, recovered: null, isComplete: false, aside: [] };
  }
  refuseState(stateDir, mayReplace);
  const releasers = createReleasers();
  try {
    makeFolder(stateDir, 0o700);
    await refuseNetworkFolder(stateDir);
    const holder = holderHere(options.holder, clock.now());
    // Another process may begin a pipeline now that has no lock in the state folder yet.
    for (const name of new Set([pipeline, ...runs.map((run) => run.pipeline)])) {
      const request = { pipeline: name, holder, wait: 0 };
      releasers.add(await waitForLock(createFileLock(stateDir), request, context));
    }
    const restored = await withAllPipelinesStopped(stateDir, () =>
      putBack({ folder, stateDir, list, database, at: clock.now(), signal }),
    );
    return { ...report, refusal: null, ...restored };
  } catch (error) {
    throw translateStateError(error, stateDir);
  } finally {
    await releasers.close();
  }
}

interface Restoring {
  readonly folder: string;
  readonly stateDir: string;
  readonly list: BackupList;
  readonly database: CopiedDatabase;
  readonly at: number;
  readonly signal: AbortSignal;
}

async function refusalOf(check: () => Promise<void>): Promise<Restored['refusal']> {
  try {
    await check();
    return null;
  } catch (error) {
    if (!(error instanceof FoliopipeError)) throw error;
    const { code, message, hint = null } = error;
    return { code, message, hint };
  }
}

/** @throws LockedError `PIPELINE_LOCKED` while a run of any pipeline is working. */
async function refuseWorking(stateDir: string): Promise<void> {
  for (const pipeline of lockedPipelines(stateDir)) {
    const holder = await findHolder(stateDir, pipeline);
    if (holder !== undefined) throw lockedError(pipeline, holder);
  }
}

/** The choice for each journal of the backup. @throws ConfigError `RESTORE_JOURNALS_DIFFER`. */
function chooseJournals(
  folder: string,
  stateDir: string,
  { files }: BackupList,
): ReadonlyMap<string, JournalChoice> {
  const journals = files.filter(({ path }) => isJournal(path));
  return new Map(journals.map(({ path }) => [path, chooseJournal(folder, stateDir, path)]));
}

async function putBack({ folder, stateDir, list, database, at, signal }: Restoring) {
  const journals = chooseJournals(folder, stateDir, list);
  const isComplete = await knowsPayments(stateDir, database);
  await markRestoring(stateDir, { restoredAt: at, backupAt: list.createdAt, unfinished: folder });

  // `recover`, which gets the same time, has another ending.
  const end = asideEnding(at, 'replaced');
  const aside: string[] = [];
  const setAside = (path: string) => {
    const from = join(stateDir, path);
    if (!existsSync(from)) return;
    renameSync(from, `${from}${end}`);
    aside.push(`${from}${end}`);
  };
  // What is kept of a last publication must fit the output in place, so existing files are not replaced.
  const kept = new Set(
    list.files
      .filter(({ path }) => path.endsWith('/last.json') && existsSync(join(stateDir, path)))
      .map(({ path }) => dirname(path)),
  );
  const secret = list.files.find(({ path }) => path === SECRET);
  const secretThere = secret && (await hashFile(join(stateDir, SECRET)));
  if (secretThere && secretThere.sha256 !== secret.sha256) setAside('reuse');
  for (const file of list.files) {
    signal.throwIfAborted();
    const { path } = file;
    if (path === DATABASE || kept.has(dirname(path))) continue;
    if (isJournal(path) && journals.get(path) !== 'backup') continue;
    // The existing one may be of this state, and know more, or of another.
    if (path === SEARCHES && existsSync(join(stateDir, path))) {
      await addSearches(stateDir, folder);
      continue;
    }
    const found = await hashFile(join(stateDir, path));
    if (found?.sha256 === file.sha256) continue;
    if (found !== undefined) setAside(path);
    await put(folder, stateDir, file);
  }
  signal.throwIfAborted();
  // The database comes last: without it, every command refuses the state.
  for (const log of ['-wal', '-shm', '-journal', '']) setAside(`${DATABASE}${log}`);
  await put(folder, stateDir, list.files.find(({ path }) => path === DATABASE)!);
  const recovered = await rebuildAll(stateDir, runsWithFiles(stateDir), at);
  await markRestored(stateDir, isComplete);
  return { recovered, isComplete, aside: [...aside, ...recovered.aside] };
}

/** Copies a file of the backup to its place. @throws ConfigError `BACKUP_DAMAGED`. */
async function put(folder: string, stateDir: string, { path, sha256 }: BackedUpFile): Promise<void> {
  const target = join(stateDir, path);
  const beside = `${target}.tmp`;
  rmSync(beside, { force: true });
  try {
    const copied = await copyFile(join(folder, path), beside);
    if (copied.sha256 !== sha256) throw damagedBackup(join(folder, path));
    renameSync(beside, target);
  } finally {
    rmSync(beside, { force: true });
  }
  await syncFolder(dirname(target));
}

/** @throws ConfigError `STATE_NOT_EMPTY` when the folder holds a state and `isReplaced` is false. */
function refuseState(stateDir: string, isReplaced: boolean): void {
  const state = namesIn(stateDir).filter((name) =>
    /^(checkpoint\.db.*|searches\.log|runs|reuse|deltas)$/.test(name),
  );
  if (state.length === 0 || isReplaced) return;
  throw new ConfigError('STATE_NOT_EMPTY', `${stateDir} holds a state: ${state.join(', ')}`, {
    hint: 'nothing was restored; if the database is lost or damaged, foliopipe recover may rebuild it without a backup; to restore here, add --replace: the database is set aside, and what only the journals know is kept',
    facts: { stateDir },
  });
}

/** An output that is newer than the backup. */
export interface NewerOutput {
  readonly path: string;
  readonly pipeline: string;
  /** The number of its publication, and the highest that the backup knows of this pipeline. */
  readonly publication: number;
  readonly known: number;
  /** The run that has published it. */
  readonly run: string;
}

/** Finds outputs that were published after the backup: their manifests have higher numbers than the database. */
async function newerOutputs(publications: CopiedDatabase['publications']): Promise<readonly NewerOutput[]> {
  const highest = new Map<string, number>();
  for (const { pipeline, number } of publications) {
    highest.set(pipeline, Math.max(number, highest.get(pipeline) ?? 0));
  }
  const newer: NewerOutput[] = [];
  for (const { pipeline, path } of publications) {
    // A manifest that cannot be read counts as missing.
    const head = await readHead({ read: readBeginning }, path).catch(() => '');
    const publication = Number(textIn(head, 'publication'));
    const run = textIn(head, 'run');
    const known = highest.get(pipeline)!;
    if (textIn(head, 'pipeline') === pipeline && run !== undefined && publication > known) {
      newer.push({ path, pipeline, publication, known, run: escapeUnprintable(run) });
    }
  }
  return newer;
}
