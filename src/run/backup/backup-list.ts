/** `backup.json`: what a backup holds, with a hash of each file and a checksum of itself. Written last of all. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import type { CopiedDatabase } from '../../checkpoint/sqlite/copy-database.js';
import { ConfigError } from '../../errors.js';
import { writeFileAtomically } from '../../streams/atomic-file.js';
import { hashFile } from '../../streams/file-identity.js';
import { codeOf, isFileMissing } from '../../streams/system-error.js';
import { isKnownPath } from './backup-files.js';

const NAME = 'backup.json';
const VERSION = 1;

export interface BackedUpFile {
  /** Relative to the backup and to the state folder. */
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

export interface BackupList {
  readonly version: number;
  /** Epoch milliseconds, before the database was copied. */
  readonly createdAt: number;
  readonly stateDir: string;
  /** Whether the stored parts are in it. */
  readonly results: boolean;
  readonly runs: CopiedDatabase['runs'];
  readonly files: readonly BackedUpFile[];
}

export async function writeBackupList(folder: string, list: Omit<BackupList, 'version'>): Promise<void> {
  const whole = { version: VERSION, ...list };
  const text = `${JSON.stringify({ ...whole, sum: crc32(JSON.stringify(whole)) }, null, 2)}\n`;
  await writeFileAtomically(join(folder, NAME), 0o600, (file) => writeFileSync(file, text));
}

/** @throws ConfigError `BACKUP_MISSING`, `BACKUP_DAMAGED`, `BACKUP_NEWER`. */
export function readBackupList(folder: string): BackupList {
  const path = join(folder, NAME);
  const { sum, ...list } = parse(path) as BackupList & { readonly sum: unknown };
  if (typeof list.version === 'number' && list.version > VERSION) {
    throw new ConfigError('BACKUP_NEWER', `${path} is of a newer foliopipe (version ${list.version})`, {
      hint: 'upgrade foliopipe on this machine, then run the same command again',
      facts: { path, version: list.version },
    });
  }
  if (sum !== crc32(JSON.stringify(list))) throw damagedBackup(path);
  const strange = list.files.find((file) => !isKnownPath(file.path));
  if (strange !== undefined) throw damagedBackup(join(folder, strange.path));
  return list;
}

/** Reads every file of a backup. @throws ConfigError `BACKUP_DAMAGED`, naming the first file that differs. */
export async function checkBackedUpFiles(folder: string, { files }: BackupList): Promise<void> {
  for (const { path, bytes, sha256 } of files) {
    const found = isFile(join(folder, path)) ? await hashFile(join(folder, path)) : undefined;
    if (found?.bytes !== bytes || found.sha256 !== sha256) throw damagedBackup(join(folder, path));
  }
}

/** False for a folder or a pipe, and for a path below a file. */
function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch (error) {
    if (isFileMissing(error) || codeOf(error) === 'ELOOP') return false;
    throw error;
  }
}

export function damagedBackup(path: string): ConfigError {
  return new ConfigError('BACKUP_DAMAGED', `${path} is not what was backed up`, {
    hint: 'nothing was restored; use another backup, or rebuild from what is left with: foliopipe recover',
    facts: { path },
  });
}

function parse(path: string): object {
  try {
    if (!statSync(path).isFile()) throw damagedBackup(path);
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value === 'object' && value !== null) return value;
  } catch (error) {
    if (isFileMissing(error)) {
      throw new ConfigError('BACKUP_MISSING', `there is no backup here: ${path} is missing`, {
        hint: 'name the folder that foliopipe state backup has made',
        facts: { path },
      });
    }
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw damagedBackup(path);
}
