/**
 * Backs up a state folder while runs work on it. Invariant: the database is copied before the journals. So the backup's
 * journals know at least what its database knows, and `recover` can add what is missing in the database.
 */

import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { checkCall } from '../../check-call.js';
import { type CopiedDatabase, copyDatabase } from '../../checkpoint/sqlite/copy-database.js';
import type { Config } from '../../config/schema.js';
import { diskError } from '../../disk-error.js';
import { ConfigError, TroubleError } from '../../errors.js';
import { makeFolder } from '../../make-folder.js';
import { secretLost } from '../../reuse/secret.js';
import { syncFolder } from '../../streams/atomic-file.js';
import { hashFile } from '../../streams/file-identity.js';
import { codeOf, isFileMissing } from '../../streams/system-error.js';
import { type StateContext, withContext } from '../open/open-state.js';
import type { RunOptions } from '../run-options.js';
import { type MaybeInDatabase, refuseDatabase } from '../state-reader.js';
import { copiesOfOpenRuns, copyFile, DATABASE, isJournal, SECRET, stateFiles } from './backup-files.js';
import { type BackedUpFile, type BackupList, writeBackupList } from './backup-list.js';

/** How a backup is made. */
export interface BackupOptions extends Pick<RunOptions, 'signal' | 'clock'> {
  /** The folder to make. It must not exist, or be empty. */
  readonly folder: string;
  /** Whether stored parts are copied too. Without them, a restore fetches them from the service again. */
  readonly results?: boolean | undefined;
}

/** What was backed up. */
export interface BackedUp extends Pick<BackupList, 'createdAt' | 'results' | 'runs'> {
  readonly folder: string;
  readonly files: number;
  readonly bytes: number;
  /** Stored parts that were left out. */
  readonly partsLeftOut: number;
}

const ATTEMPTS = 5;

/**
 * Takes no lock. The backup appears whole or not at all; its folders have mode 0700, its files 0600. It holds the
 * database, the journals, the stored answers with their secret, the choices, what deltas need, the copies of sources for
 * pipelines with an unfinished run and, with `results`, all copies and the parts.
 * @throws ConfigError `STATE_MISSING`, `BACKUP_PLACE_TAKEN`, `BACKUP_WITHIN_STATE`, `REUSE_SEGMENT_LOST`,
 *   `REUSE_SECRET_LOST`, those of the checkpoint; TroubleError `STATE_CHANGING`; those of `diskError`.
 */
export async function backupState(
  config: Pick<Config, 'stateDir'> & MaybeInDatabase,
  options: BackupOptions,
): Promise<BackedUp> {
  checkCall('backupState', { place: config, needs: options, folder: options?.folder });
  refuseDatabase(config, 'foliopipe state backup');
  return withContext(options, (context) => backUp(config.stateDir, options, context));
}

async function backUp(
  stateDir: string,
  { folder: given, results = false }: BackupOptions,
  { clock, signal }: StateContext,
): Promise<BackedUp> {
  const folder = resolve(given);
  let beside: string | undefined;
  const missing = missingFolders(dirname(folder));
  try {
    makeFolder(dirname(folder), 0o700);
    await refusePlace(folder, stateDir);
    removeOldPartials(folder, clock.now());
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      beside = mkdtempSync(`${folder}${PARTIAL}`);
      const found = await copyState(stateDir, beside, { results, createdAt: clock.now(), signal });
      if (found !== undefined) {
        await writeBackupList(beside, found.list);
        for (const path of foldersOf(found.list.files)) await syncFolder(join(beside, path));
        renameSync(beside, folder);
        await syncFolder(dirname(folder));
        const { createdAt, runs, files } = found.list;
        const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
        const { partsLeftOut } = found;
        return { folder, createdAt, results, runs, files: files.length, bytes, partsLeftOut };
      }
      rmSync(beside, { recursive: true, force: true });
    }
    throw new TroubleError('STATE_CHANGING', `${stateDir} changed each time while it was copied`, {
      hint: 'run the same command again',
      facts: { attempts: ATTEMPTS },
    });
  } catch (error) {
    if (beside !== undefined) rmSync(beside, { recursive: true, force: true });
    for (const made of missing) removeEmpty(made);
    throw diskError(error, folder) ?? error;
  }
}

/** Those of a folder and its parents that do not exist, the deepest first. */
function missingFolders(folder: string): readonly string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))];
}

/** Removes a folder that a failed backup has made, unless it holds something. */
function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // The folder was not made, or it is used.
  }
}

interface CopyOptions {
  readonly results: boolean;
  readonly createdAt: number;
  readonly signal: AbortSignal;
}

/** @returns undefined if something that belongs together has changed meanwhile. */
async function copyState(
  stateDir: string,
  to: string,
  { results, createdAt, signal }: CopyOptions,
): Promise<{ readonly list: Omit<BackupList, 'version'>; readonly partsLeftOut: number } | undefined> {
  const lastPublications = readLastPublications(stateDir);
  const copied = await copyDatabase(stateDir, join(to, DATABASE));
  const files: BackedUpFile[] = [{ path: DATABASE, ...(await hashFile(join(to, DATABASE)))! }];
  const copy = async (path: string): Promise<void> => {
    signal.throwIfAborted();
    try {
      files.push({ path, ...(await copyFile(join(stateDir, path), join(to, path))) });
    } catch (error) {
      // Removed meanwhile: pruned answers, parts that were fetched again, digests of an older publication.
      if (!isFileMissing(error)) throw error;
    }
  };
  // Journals first, then the rest: a run's choice and answers exist before its journal mentions them.
  const { journals } = stateFiles(stateDir);
  for (const path of journals) await copy(path);
  const { parts, answers, deltas, copies } = stateFiles(stateDir);
  // Which copies a run reads that began after the database was copied is not known.
  const known = new Set(copied.runs.map(({ run }) => `runs/${run}/paid.log`));
  const hasBegun = journals.some((path) => isJournal(path) && !known.has(path));
  const needed = results || hasBegun ? copies : copiesOfOpenRuns(copies, copied.runs);
  for (const path of [...answers, ...deltas, ...needed, ...(results ? parts : [])]) await copy(path);

  if (copied.segments.length > 0 && !files.some(({ path }) => path === SECRET)) {
    throw secretLost(join(stateDir, SECRET), 'is missing');
  }
  const lost = lostSegment(copied, files);
  if (lost !== undefined) {
    const now = await namedSegments(stateDir, to);
    if (now.includes(lost)) throw segmentLost(stateDir, lost);
    return undefined;
  }
  if (readLastPublications(stateDir) !== lastPublications) return undefined;
  const list = { createdAt, stateDir, results, runs: copied.runs, files };
  return { list, partsLeftOut: results ? 0 : parts.length };
}

/** What is kept of each pipeline's last publication: in a backup, it must fit the database. */
function readLastPublications(stateDir: string): string {
  return stateFiles(stateDir)
    .deltas.filter((path) => path.endsWith('/last.json'))
    .map((path) => {
      try {
        return readFileSync(join(stateDir, path), 'utf8');
      } catch (error) {
        if (isFileMissing(error)) return '';
        throw error;
      }
    })
    .join('\n');
}

/** A segment that the database names, and that was missing when the files were copied. */
function lostSegment({ segments }: CopiedDatabase, files: readonly BackedUpFile[]): string | undefined {
  const paths = new Set(files.map(({ path }) => path));
  return segments.find((id) => !paths.has(`reuse/segments/${id}.seg`));
}

/** The segments that the database names now. */
async function namedSegments(stateDir: string, to: string): Promise<readonly string[]> {
  const path = join(to, `${DATABASE}.now`);
  const { segments } = await copyDatabase(stateDir, path);
  rmSync(path);
  return segments;
}

function segmentLost(stateDir: string, id: string): ConfigError {
  const path = join(stateDir, 'reuse', 'segments', `${id}.seg`);
  return new ConfigError('REUSE_SEGMENT_LOST', `${path}: a file of stored answers is missing`, {
    hint: 'no backup was made; see what is stored with: foliopipe reuse show',
    facts: { path },
  });
}

async function refusePlace(folder: string, stateDir: string): Promise<void> {
  const inside = await realpath(dirname(folder));
  const state = await realpath(stateDir).catch(() => stateDir);
  if (inside === state || `${inside}${sep}`.startsWith(`${state}${sep}`)) {
    throw new ConfigError('BACKUP_WITHIN_STATE', `${folder} lies within the state folder ${stateDir}`, {
      hint: 'name a folder on another disk: what removes the state would remove the backup',
      facts: { folder },
    });
  }
  const isFree = (() => {
    try {
      return readdirSync(folder).length === 0;
    } catch (error) {
      if (codeOf(error) === 'ENOTDIR') return false;
      if (isFileMissing(error)) return true;
      throw error;
    }
  })();
  if (isFree) return;
  throw new ConfigError('BACKUP_PLACE_TAKEN', `${folder} is there already, and is not an empty folder`, {
    hint: 'name a new folder, such as backups/$(date +%F-%H%M)',
    facts: { folder },
  });
}

const PARTIAL = '.partial-';
const OLD_MS = 24 * 60 * 60 * 1000;

/** Removes what killed backups have left beside their folder. More recent ones may still be written. */
function removeOldPartials(folder: string, now: number): void {
  for (const name of readdirSync(dirname(folder))) {
    const path = join(dirname(folder), name);
    if (!/^\w{6}$/.test(name.slice(-6)) || name.slice(0, -6) !== `${basename(folder)}${PARTIAL}`) continue;
    if (now - statSync(path).mtimeMs > OLD_MS) rmSync(path, { recursive: true, force: true });
  }
}

/** The folders of the files, the deepest first. */
function foldersOf(files: readonly BackedUpFile[]): readonly string[] {
  const folders = new Set<string>(['.']);
  for (const { path } of files) {
    for (let folder = dirname(path); folder !== '.'; folder = dirname(folder)) folders.add(folder);
  }
  return [...folders].sort((a, b) => b.length - a.length);
}
