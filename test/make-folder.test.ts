/** Folders are made level by level; a place that takes none is an error at once. */
import { mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { platform } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../src/make-folder.js';
import { withFolder } from './helpers/folders/folders.js';

const codeOf = (work: () => void) => {
  try {
    work();
    return 'none';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

describe('makeFolder', () => {
  it('makes all missing levels with the mode, and leaves what is there', () =>
    withFolder(async (folder) => {
      mkdirSync(join(folder, 'a'), { mode: 0o755 });
      for (let times = 0; times < 2; times++) makeFolder(join(folder, 'a', 'b', 'c'), 0o700);
      const modeOf = (...names: string[]) => statSync(join(folder, ...names)).mode & 0o777;
      expect([modeOf('a'), modeOf('a', 'b'), modeOf('a', 'b', 'c')]).toEqual([0o755, 0o700, 0o700]);
      makeFolder('/');
    }));

  it('follows a link to a folder', () =>
    withFolder(async (folder) => {
      mkdirSync(join(folder, 'real'));
      symlinkSync(join(folder, 'real'), join(folder, 'link'));
      makeFolder(join(folder, 'link'));
      makeFolder(join(folder, 'link', 'x'));
      expect(statSync(join(folder, 'real', 'x')).isDirectory()).toBe(true);
    }));

  it('throws the error of the system', () =>
    withFolder(async (folder) => {
      writeFileSync(join(folder, 'file'), '');
      symlinkSync(join(folder, 'nowhere'), join(folder, 'dangling'));
      symlinkSync(join(folder, 'loop'), join(folder, 'loop'));
      expect(codeOf(() => makeFolder(join(folder, 'file')))).toBe('EEXIST');
      expect(codeOf(() => makeFolder(join(folder, 'file', 'x', 'y')))).toBe('ENOTDIR');
      expect(codeOf(() => makeFolder(join(folder, 'dangling', 'x')))).toBe('EEXIST');
      expect(codeOf(() => makeFolder(join(folder, 'loop', 'x')))).toBe('ELOOP');
    }));

  it.skipIf(platform() !== 'linux')('ends at once where the file system takes no folders', () => {
    // Node's own recursive mkdir never returns here.
    expect(codeOf(() => makeFolder('/proc/foliopipe/x'))).toBe('ENOENT');
    expect(['EPERM', 'EACCES', 'EROFS']).toContain(codeOf(() => makeFolder('/sys/foliopipe/x')));
    expect(codeOf(() => makeFolder('/dev/null/x'))).toBe('ENOTDIR');
  });
});
