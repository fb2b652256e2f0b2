import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeReadError, readSmallFile } from '../../src/config/read-small-file.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

function whyNot(path: string, maxBytes: number): string {
  try {
    readSmallFile(path, maxBytes);
  } catch (error) {
    return describeReadError(error).words;
  }
  return 'read';
}

it('reads a file up to the limit, and nothing of a larger one', async () => {
  const path = join(await folder(), 'file');
  await writeFile(path, 'x'.repeat(200_000));
  expect(readSmallFile(path, 200_000)).toHaveLength(200_000);
  expect(whyNot(path, 199_999)).toBe('it is too large for such a file');
});

it('ends for a device that has no end', () => {
  expect(whyNot('/dev/zero', 1024 * 1024)).toBe('it is too large for such a file');
  expect(whyNot('/dev/full', 100)).toBe('it is too large for such a file');
  expect(readSmallFile('/dev/null', 100)).toHaveLength(0);
});

it('refuses a named pipe and waits for nobody, but reads a pipe of this process', async () => {
  const path = join(await folder(), 'pipe');
  execFileSync('mkfifo', [path]);
  expect(whyNot(path, 100)).toBe('it is a named pipe; write it as a file');
  // As in `<(...)`: it is open here already.
  const file = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  writeSync(file, 'x'.repeat(200));
  expect(whyNot(`/dev/fd/${file}`, 100)).toBe('it is too large for such a file');
  closeSync(file);
});
