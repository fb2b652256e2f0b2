/**
 * Explains errors of the operating system about files and folders, in one place: what is wrong with which path, whether
 * the same command can go on, and what to do first.
 */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { ConfigError, type FoliopipeError, TroubleError } from './errors.js';

const GO_ON = 'then run the same command again: it goes on where this one stopped';
const MORE_FILES =
  'raise the limit (ulimit -n 1024, or LimitNOFILE= of a systemd unit) or lower concurrency.*';

/** The words for one kind of error. */
interface Meaning {
  /** Temporary trouble: the same command goes on later. Otherwise a person must correct something. */
  readonly passes?: boolean;
  readonly code: string;
  /** @param path as the error has it. @param system the code of the system. */
  readonly text: (path: string, system: string) => string;
  readonly hint: string;
}

const INODES: Meaning = {
  passes: true,
  code: 'DISK_NO_INODES',
  text: (path) => `no room for another file at ${path}: its file system has space left, but no free inode`,
  hint: `remove files there (df -i shows the inodes; foliopipe runs prune removes the results of old runs), ${GO_ON}`,
};

const UNWRITABLE: Meaning = {
  code: 'FOLDER_UNWRITABLE',
  text: (path, system) => `cannot write ${path} (${system})`,
  hint: `let this user write there, ${GO_ON}`,
};

const UNREADABLE: Meaning = {
  code: 'FILE_UNREADABLE',
  text: (path, system) => `cannot read ${path} (${system})`,
  hint: `work as the user that it belongs to, or let this user read it and enter its folders, ${GO_ON}`,
};

const NO_FOLDERS: Meaning = {
  code: 'FOLDER_UNWRITABLE',
  text: (path) => `cannot create the folder ${path}: it is in a place that takes no folders`,
  hint: 'name a folder on a disk',
};

const NOWHERE: Meaning = {
  code: 'FILE_GONE',
  text: () => 'the folder in which this command was started is gone: it was removed, or replaced',
  hint: 'change to a folder that is there (cd), then run the same command again',
};

const WRONG_KIND: Meaning = {
  code: 'PATH_NOT_FOLDER',
  text: (path, system) => `cannot use ${path}: something else is where a folder must be (${system})`,
  hint: `move it away or name another path, ${GO_ON}`,
};

const FAILED: Meaning = {
  passes: true,
  code: 'DISK_FAILED',
  text: (path, system) => `the disk failed on ${path} (${system})`,
  hint: `look at the disk, ${GO_ON}`,
};

const BUSY: Meaning = {
  passes: true,
  code: 'FILE_BUSY',
  text: (path, system) => `${path} is in use by the system or by another program (${system})`,
  hint: `wait until it is free, ${GO_ON}`,
};

const TOO_MANY: Meaning = {
  passes: true,
  code: 'TOO_MANY_FILES',
  text: (path, system) =>
    system === 'ENFILE'
      ? `the system has no room for more open files: cannot open ${path} (ENFILE)`
      : `too many open files: cannot open ${path} (EMFILE)`,
  hint: `${MORE_FILES}, ${GO_ON}`,
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOSPC: {
    passes: true,
    code: 'DISK_FULL',
    text: (path) => `no space left to write ${path}`,
    hint: `make room, ${GO_ON}`,
  },
  EDQUOT: {
    passes: true,
    code: 'DISK_QUOTA',
    text: (path) => `the disk quota of this user is used up: cannot write ${path}`,
    hint: `make room or raise the quota, ${GO_ON}`,
  },
  EACCES: UNWRITABLE,
  EPERM: UNWRITABLE,
  EROFS: {
    ...UNWRITABLE,
    text: (path) => `cannot write ${path}: its file system is read-only (EROFS)`,
    hint: `make it writable again, or name a folder on another disk, ${GO_ON}`,
  },
  ENOENT: {
    code: 'FILE_GONE',
    text: (path) => `${path} is gone: something removed it, or its folder, while foliopipe used it`,
    hint: `put it back, or find what removes it, ${GO_ON}`,
  },
  EISDIR: {
    code: 'PATH_IS_FOLDER',
    text: (path) => `${path} is a folder, and a file must be there`,
    hint: `move the folder away or name another path, ${GO_ON}`,
  },
  ENOTDIR: WRONG_KIND,
  EEXIST: WRONG_KIND,
  ELOOP: {
    code: 'PATH_LOOP',
    text: (path) => `cannot use ${path}: its symbolic links form a loop (ELOOP)`,
    hint: 'correct the links, or name another path',
  },
  ENAMETOOLONG: {
    code: 'PATH_TOO_LONG',
    text: (path) => `cannot use ${path}: the name or the path is too long (ENAMETOOLONG)`,
    hint: 'choose a shorter name',
  },
  EXDEV: {
    code: 'PATH_OTHER_DISK',
    text: (path) => `cannot put ${path} in place: it is a mount of its own, or on another disk (EXDEV)`,
    hint: `mount its folder instead of the file, ${GO_ON}`,
  },
  EFBIG: {
    code: 'FILE_SIZE_LIMIT',
    text: (path) => `${path} would be larger than the limit of this user or of its file system (EFBIG)`,
    hint: `raise the limit (ulimit -f), or use another disk, ${GO_ON}`,
  },
  EIO: FAILED,
  ESTALE: FAILED,
  ENODEV: FAILED,
  ENXIO: FAILED,
  EBUSY: BUSY,
  ETXTBSY: BUSY,
  EMFILE: TOO_MANY,
  ENFILE: TOO_MANY,
};

/** Calls of the system that are about the network: the client has its own errors for them. */
const NETWORK = new Set(['connect', 'bind', 'listen', 'accept', 'getaddrinfo']);

/**
 * @param error anything that was thrown.
 * @param place the paths to name if the error names none, as that of a write to an open file. If the disk is full, only
 *   those whose file system has the least room are named.
 * @param room asks what is left on a file system.
 * @returns the error to throw in its place; undefined if it is no error of the system about a file or folder. Exit 5:
 *   `DISK_FULL`, `DISK_NO_INODES`, `DISK_QUOTA`, `DISK_FAILED`, `FILE_BUSY`, `TOO_MANY_FILES`. Exit 2:
 *   `FOLDER_UNWRITABLE`, `FILE_UNREADABLE`, `FILE_GONE`, `PATH_IS_FOLDER`, `PATH_NOT_FOLDER`, `PATH_LOOP`, `PATH_TOO_LONG`,
 *   `PATH_OTHER_DISK`, `FILE_SIZE_LIMIT`.
 */
export function diskError(
  error: unknown,
  place: string | readonly string[] = 'a file',
  room: (path: string) => FreeSpace | undefined = freeSpaceAt,
): FoliopipeError | undefined {
  const { code, syscall, path: named, dest } = systemFacts(error);
  if (!Object.hasOwn(MEANINGS, code)) return undefined;
  if (NETWORK.has(syscall ?? '') && MEANINGS[code] !== TOO_MANY) return undefined;
  const places = typeof place === 'string' ? [place] : place;
  const path = dest ?? named ?? (code === 'ENOSPC' ? fullOnes(places, room) : places).join(' or ');
  const lacks = code === 'ENOSPC' && lacksInodes(syscall, room(path));
  const meaning = lacks ? INODES : meaningOf(code, syscall, path);
  const details = { hint: meaning.hint, facts: { path, reason: code }, cause: error };
  const text = meaning.text(path, code);
  return meaning.passes
    ? new TroubleError(meaning.code, text, details)
    : new ConfigError(meaning.code, text, details);
}

/** @returns the places with no room, or with far less than another one; all of them if there are no such places. */
function fullOnes(
  places: readonly string[],
  room: (path: string) => FreeSpace | undefined,
): readonly string[] {
  const rooms = places.map((path) => ({ path, ...room(path) }));
  const most = Math.max(...rooms.map(({ bytes = 0 }) => bytes));
  const full = rooms.filter(
    ({ bytes, inodes }) => inodes === 0 || (bytes !== undefined && bytes * 16 < most),
  );
  return full.length > 0 ? full.map(({ path }) => path) : places;
}

/** An error as the system throws it, for what SQLite reports in its own words. */
export function systemError(code: string, path: string, syscall = 'open'): Error {
  return Object.assign(new Error(code), { code, syscall, path });
}

/** Whether an error of the system is temporary, so that the same command can go on later: a full disk, for example. */
export function isPassingTrouble(error: unknown): boolean {
  return diskError(error) instanceof TroubleError;
}

function meaningOf(code: string, syscall: string | undefined, path: string): Meaning {
  if (code === 'ENOENT' && syscall === 'mkdir') return NO_FOLDERS;
  if (syscall === 'uv_cwd') return NOWHERE;
  return MEANINGS[code] === UNWRITABLE && isReading(syscall, path) ? UNREADABLE : MEANINGS[code]!;
}

/** Calls that only read. */
const READING = new Set(['read', 'readlink', 'scandir', 'opendir', 'stat', 'lstat', 'fstat', 'realpath']);

/** Whether a call failed to read. `open` may also be for writing: then the file is missing, or can be read. */
function isReading(syscall: string | undefined, path: string): boolean {
  if (READING.has(syscall ?? '')) return true;
  if (syscall !== 'open' || !existsSync(path)) return false;
  try {
    accessSync(path, constants.R_OK);
    return false;
  } catch {
    return true;
  }
}

interface SystemFacts {
  readonly code: string;
  readonly syscall?: string | undefined;
  readonly path?: string | undefined;
  readonly dest?: string | undefined;
}

function systemFacts(error: unknown): SystemFacts {
  if (!(error instanceof Error && 'code' in error)) return { code: '' };
  const { code, syscall, path, dest } = error as SystemFacts & Error;
  // Node's `rm` detects some of these errors itself, and puts `ERR_FS_` before their codes.
  return { code: String(code).replace(/^ERR_FS_(?=E)/, ''), syscall, path, dest };
}

/** What is free on the file system of a path. */
export interface FreeSpace {
  readonly bytes: number;
  /** Infinity for a file system that does not count them. */
  readonly inodes: number;
}

/** @returns undefined if the system cannot say. */
export function freeSpaceAt(path: string): FreeSpace | undefined {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(path);
    return { bytes: bavail * bsize, inodes: files > 0 ? ffree : Number.POSITIVE_INFINITY };
  } catch {
    const folder = dirname(path);
    return folder === path ? undefined : freeSpaceAt(folder);
  }
}

/** Calls that need an inode and hardly any space. */
const CREATING = new Set(['open', 'mkdir', 'symlink']);

/**
 * Whether inodes were missing, and not space. When this looks, a few inodes may be free again. So a call that only needs
 * an inode also counts, if there is space.
 */
function lacksInodes(syscall: string | undefined, room: FreeSpace | undefined): boolean {
  if (room === undefined || room.inodes === Number.POSITIVE_INFINITY) return false;
  return room.inodes === 0 || (CREATING.has(syscall ?? '') && room.bytes > 0);
}
