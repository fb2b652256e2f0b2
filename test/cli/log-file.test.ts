import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLogFile } from '../../src/cli/log-file.js';
import { ConfigError } from '../../src/errors.js';
import { useFolder } from '../helpers/folders/folders.js';

const folder = useFolder();

it('is appended to, in a new folder, and only its owner can read it', async () => {
  const path = join(await folder(), 'logs', 'run.log');
  for (const line of ['one\n', 'two\n']) openLogFile(path, expect.unreachable).write(line);
  expect(await readFile(path, 'utf8')).toBe('one\ntwo\n');
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it('reports a full disk once and never throws', () => {
  const lost: string[] = [];
  const file = openLogFile('/dev/full', (code) => lost.push(code));
  file.write('one\n');
  file.write('two\n');
  expect(lost).toEqual(['ENOSPC']);
});

it('that is a pipe without a reader is an error, and is not waited for', async () => {
  const path = join(await folder(), 'pipe');
  execFileSync('mkfifo', [path]);
  expect(() => openLogFile(path, expect.unreachable)).toThrow(ConfigError);
});

it('that is a pipe is given up when its reader does not read', async () => {
  const path = join(await folder(), 'pipe');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const lost: string[] = [];
  const file = openLogFile(path, (code) => lost.push(code));
  file.write('x'.repeat(1024 * 1024));
  closeSync(reader);
  expect(lost).toEqual(['EAGAIN']);
});

it('that cannot be opened is an error', () => {
  expect(() => openLogFile('/dev/null/log', expect.unreachable)).toThrow(ConfigError);
});
