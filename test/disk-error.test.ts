/** Errors of the system about files: each has a code of ours, and none is called a bug. */
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskError } from '../src/disk-error.js';
import { withFolder } from './helpers/folders/folders.js';

const made = (code: string, facts: object = { syscall: 'open', path: '/d/f' }) =>
  Object.assign(new Error(code), { code, ...facts });

const told: Readonly<Record<string, readonly [string, number]>> = {
  ENOSPC: ['DISK_FULL', 5],
  EDQUOT: ['DISK_QUOTA', 5],
  EACCES: ['FOLDER_UNWRITABLE', 2],
  EPERM: ['FOLDER_UNWRITABLE', 2],
  EROFS: ['FOLDER_UNWRITABLE', 2],
  ENOENT: ['FILE_GONE', 2],
  EISDIR: ['PATH_IS_FOLDER', 2],
  ERR_FS_EISDIR: ['PATH_IS_FOLDER', 2],
  ENOTDIR: ['PATH_NOT_FOLDER', 2],
  EEXIST: ['PATH_NOT_FOLDER', 2],
  ELOOP: ['PATH_LOOP', 2],
  ENAMETOOLONG: ['PATH_TOO_LONG', 2],
  EXDEV: ['PATH_OTHER_DISK', 2],
  EFBIG: ['FILE_SIZE_LIMIT', 2],
  EIO: ['DISK_FAILED', 5],
  ESTALE: ['DISK_FAILED', 5],
  EBUSY: ['FILE_BUSY', 5],
  ETXTBSY: ['FILE_BUSY', 5],
  EMFILE: ['TOO_MANY_FILES', 5],
  ENFILE: ['TOO_MANY_FILES', 5],
};

describe('diskError', () => {
  it.each(Object.entries(told))('%s: its code, exit code, path and next step', (system, [code, exitCode]) => {
    const error = diskError(made(system), '', () => undefined)!;
    expect(error).toMatchObject({ code, exitCode, facts: { path: '/d/f' } });
    expect(error.message).toContain('/d/f');
    expect(error.hint).toBeTruthy();
  });

  it.each(['read', 'scandir', 'open'])('says of a failed %s that it could not read', async (syscall) => {
    // Nobody may open this file to read, root included.
    const path = syscall === 'open' ? '/proc/self/clear_refs' : '/d/f';
    const error = diskError(made('EACCES', { syscall, path }), '', () => undefined)!;
    const isKnown = syscall !== 'open' || process.getuid?.() !== 0;
    expect(error).toMatchObject(
      isKnown
        ? { code: 'FILE_UNREADABLE', exitCode: 2, message: `cannot read ${path} (EACCES)` }
        : { code: 'FOLDER_UNWRITABLE', exitCode: 2 },
    );
    expect(error.hint).toContain('the same command');
  });

  it('explains what the system really says', () =>
    withFolder(async (folder) => {
      const at = (...names: string[]) => join(folder, ...names);
      await mkdir(at('full', 'inside'), { recursive: true });
      await writeFile(at('file'), '');
      const codeOfFailure = (work: Promise<unknown>) =>
        work.then(
          () => 'none',
          (error: unknown) => diskError(error)?.code,
        );
      expect(await codeOfFailure(readFile(at('none')))).toBe('FILE_GONE');
      expect(await codeOfFailure(readFile(at('full')))).toBe('PATH_IS_FOLDER');
      expect(await codeOfFailure(rm(at('full')))).toBe('PATH_IS_FOLDER');
      expect(await codeOfFailure(rename(at('file'), at('full')))).toBe('PATH_IS_FOLDER');
      expect(await codeOfFailure(writeFile(at('file', 'x'), ''))).toBe('PATH_NOT_FOLDER');
      expect(await codeOfFailure(writeFile(at('x'.repeat(300)), ''))).toBe('PATH_TOO_LONG');
      expect(await codeOfFailure(writeFile('/dev/full', 'x'))).toBe('DISK_FULL');
    }));

  it.each([
    ['write', { bytes: 0, inodes: 9 }, 'DISK_FULL'],
    ['write', { bytes: 9, inodes: Number.POSITIVE_INFINITY }, 'DISK_FULL'],
    ['write', { bytes: 9, inodes: 0 }, 'DISK_NO_INODES'],
    // A few were given back before the error was told.
    ['open', { bytes: 9, inodes: 2 }, 'DISK_NO_INODES'],
    ['mkdir', { bytes: 0, inodes: 2 }, 'DISK_FULL'],
    ['open', { bytes: 9, inodes: Number.POSITIVE_INFINITY }, 'DISK_FULL'],
  ])('tells a lack of space from a lack of inodes: %s with %j left is %s', (syscall, room, code) => {
    expect(diskError(made('ENOSPC', { syscall, path: '/d/f' }), '', () => room)?.code).toBe(code);
  });

  it('says that the working directory is gone, of which the system names no path', () => {
    const error = diskError(made('ENOENT', { syscall: 'uv_cwd' }));
    expect(error).toMatchObject({ code: 'FILE_GONE', exitCode: 2, hint: expect.stringContaining('cd') });
    expect(error?.message).toBe(
      'the folder in which this command was started is gone: it was removed, or replaced',
    );
  });

  it('names the place it is given, if the error of a descriptor names none', () => {
    const error = diskError(made('EIO', { syscall: 'write' }), '/state or /out');
    expect(error?.message).toBe('the disk failed on /state or /out (EIO)');
  });

  it('leaves the network and all other errors alone, but for the limit of open files', () => {
    expect(diskError(made('EACCES', { syscall: 'connect' }))).toBeUndefined();
    expect(diskError(made('ECONNREFUSED', { syscall: 'connect' }))).toBeUndefined();
    expect(diskError(made('EMFILE', { syscall: 'connect' }))?.code).toBe('TOO_MANY_FILES');
    expect(diskError(new TypeError('x is not a function'))).toBeUndefined();
    expect(diskError('ENOSPC')).toBeUndefined();
  });
});

it('of several places, names the one whose disk is full, and all if that does not tell', () => {
  const full = Object.assign(new Error('no space'), { code: 'ENOSPC', syscall: 'write' });
  const told = (...bytes: number[]) =>
    diskError(full, ['/state', '/out'], (path) => ({
      bytes: bytes[path === '/state' ? 0 : 1]!,
      inodes: 9,
    }))!.message;
  expect(told(0, 69e9)).toBe('no space left to write /state');
  expect(told(69e9, 4096)).toBe('no space left to write /out');
  expect(told(5e9, 5e9)).toBe('no space left to write /state or /out');
  expect(told(0, 0)).toBe('no space left to write /state or /out');
});
