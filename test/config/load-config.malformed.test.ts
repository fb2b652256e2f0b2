/** Every malformed config is refused with all of its problems at once, each with its key and line, and no secret. */
import { cp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import { builtConfigs } from '../fixtures/malformed/built-files.js';
import { configCases } from '../fixtures/malformed/cases.js';
import { configErrorOf } from '../helpers/config/minimal-config.js';
import { useSharedFolder } from '../helpers/folders/folders.js';

const kept = join(import.meta.dirname, '../fixtures/malformed/configs');

const newFolder = useSharedFolder();
let cwd: string;
beforeAll(async () => {
  cwd = await newFolder();
  await cp(kept, cwd, { recursive: true });
  for (const [name, content] of Object.entries(builtConfigs)) await writeFile(join(cwd, name), content);
});

function errorOf(file: string, env: Record<string, string> = {}) {
  return configErrorOf(() => loadConfig({ files: [file], env, overrides: [], cwd }));
}

test.each(configCases)('%s', async (file, ...expected) => {
  const error = await errorOf(file, { CHUNK_RECORDS: 'plenty' });
  expect(error).toMatchObject({
    code: 'CONFIG_INVALID',
    exitCode: 2,
    hint: expect.stringMatching(/^correct (it|them) and try again/),
  });
  const [head, ...problems] = error.message.split('\n  ');
  expect(head).toBe(`the config has ${expected.length === 1 ? 'a problem' : `${expected.length} problems`}:`);
  const found = problems.map((problem) => problem.replaceAll(`${cwd}/`, '').replaceAll(file, ''));
  expect(found).toEqual(expected.map((part) => expect.stringContaining(part)));
  expect(JSON.stringify([error.message, error.hint, error.facts])).not.toMatch(/hunter2|plenty|\\u00/);
});

test.each([
  ['none.yaml', 'the config file none.yaml cannot be read: there is no such file', 'ENOENT'],
  ['.', 'the config file . cannot be read: it is a folder', 'EISDIR'],
])('%s cannot be read', async (file, message, reason) => {
  expect(await errorOf(file)).toMatchObject({
    code: 'CONFIG_UNREADABLE',
    exitCode: 2,
    message,
    hint: expect.stringContaining('--config'),
    facts: { reason },
  });
});

test('every file is used by a case', async () => {
  const used = configCases.map(([file]) => file);
  const unused = [...(await readdir(kept)), ...Object.keys(builtConfigs)].filter(
    (name) => !used.includes(name),
  );
  expect(unused).toEqual(['two-lines.token']);
});
