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

it('that cannot be opened is an error', () => {
  expect(() => openLogFile('/dev/null/log', expect.unreachable)).toThrow(ConfigError);
});
