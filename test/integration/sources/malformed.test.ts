/** Every malformed source is refused before anything is paid, with the position, the problem and the next step. */
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { FoliopipeError, parseConfig, planRun } from '../../../pipelines/index.js';
import { builtSources } from '../../fixtures/malformed/built-files.js';
import { sourceCases } from '../../fixtures/malformed/cases.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';

const kept = path.join(import.meta.dirname, '../../fixtures/malformed/sources');
/** Good files, too: in some cases the config or a file beside it is wrong. */
const good = ['good.csv', 'other-order-of-columns.csv', 'fewer-columns.csv', 'comma-after-last-column.csv'];

const newFolder = useSharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await newFolder();
  const sources = path.join(folder, 'sources');
  await cp(kept, sources, { recursive: true });
  for (const [name, content] of Object.entries(builtSources)) {
    await writeFile(path.join(sources, name), content);
  }
  await symlink('gone.csv', path.join(sources, 'link-to-nothing.csv'));
  await mkdir(path.join(sources, 'folder.csv'));
});

function plan(source: string, { source: reading, ...settings }: Readonly<Record<string, object>> = {}) {
  const config = {
    pipeline: 'malformed',
    source: { path: `sources/${source}`, ...reading },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl: 'http://localhost:9', token: 't' },
    output: { path: 'out/enriched.csv' },
    ...settings,
  };
  return planRun(parseConfig(config, folder), { signal: new AbortController().signal });
}

it.each(sourceCases.map((one) => ({ one })))('$one.0: $one.1', async ({ one }) => {
  const [source, code, says, hint, settings] = one;
  const error = await plan(source, settings).then(
    () => expect.fail('it was accepted'),
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof FoliopipeError)) throw error;
  const isOfSource = code.startsWith('SOURCE_');
  expect(error).toMatchObject({ code, exitCode: isOfSource ? 4 : 2 });
  const message = error.message
    .replaceAll(`${folder}/sources/`, '')
    .replaceAll(`${folder}/`, '')
    .replace(/^.* records? are bad:\n {2}/, '');
  // For several files the message has its own wording.
  const begin = isOfSource && !source.includes('{') ? `${source}: ${says}` : says;
  expect(message.slice(0, begin.length)).toBe(begin);
  expect(error.hint).toContain(hint);
  // Text of the file must not control a terminal.
  expect(`${error.message}${error.hint}`).not.toMatch(/[^\P{Cc}\n]/u);
});

it('good files beside them are accepted, and nothing was written', async () => {
  for (const name of good) {
    const columns = name === 'fewer-columns.csv' ? { name: 'BusinessName' } : undefined;
    const { source } = await plan(name, columns && { upload: { columns } });
    expect(source).toMatchObject({ records: 1, rejected: 0 });
  }
  expect(await readdir(folder)).toEqual(['sources']);
});

it('every file is used by a case', async () => {
  const used = sourceCases.map(([source]) => source);
  const unused = [...(await readdir(kept)), ...Object.keys(builtSources)].filter(
    (name) => !used.includes(name),
  );
  expect(unused.sort()).toEqual([
    'comma-after-last-column.csv',
    'fewer-columns.csv',
    'other-order-of-columns.csv',
  ]);
});
