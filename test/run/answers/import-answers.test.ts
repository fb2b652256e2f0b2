/** What an import takes, and imports of the same file by a clock that a test sets. */
import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { createLocalAnswerStore } from '../../../src/reuse/local-answer-store.js';
import { importAnswers } from '../../../src/run/answers/import-answers.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createMemoryCheckpoint } from '../../helpers/memory/memory-checkpoint.js';

const testFolder = useFolder();

/** Writes a file of answers, and gives what imports it, at a time. */
const openImport = (...rows: readonly string[]) => openImportOf('BusinessName,code', ...rows);

async function openImportOf(...lines: readonly string[]) {
  const folder = await testFolder();
  const path = join(folder, 'bought.csv');
  await writeFile(path, [...lines, ''].join('\n'));
  const config = parseConfig(minimalWith({ result: { columns: ['code'] } }), folder);
  const checkpoint = createMemoryCheckpoint();
  const answers = createLocalAnswerStore(join(folder, 'reuse'));
  const signal = new AbortController().signal;
  const importAt = (now: number) => importAnswers({ checkpoint, answers, signal, now }, config, { path });
  return { folder, path, checkpoint, importAt };
}

it('a row whose answers are all blank is none, however many blanks they have', async () => {
  const { importAt } = await openImport('Harbor Hardware,44', 'Bakery,', 'Garage," "', 'Farm,     ');
  expect(await importAt(Date.now())).toMatchObject({ read: 4, successful: 1, unanswered: 3 });
});

it.each([
  ['at the same time', 0],
  ['by a clock that was set back', -60_000],
])('an import that replaces an earlier one %s keeps its answers', async (_, shift) => {
  const { folder, checkpoint, importAt } = await openImport('Harbor Hardware,44', 'Bakery,31');
  const now = Date.now();
  await importAt(now);
  const [first] = await checkpoint.segments();
  expect(await importAt(now + shift)).toMatchObject({ replaced: true, successful: 2 });
  const [segment] = await checkpoint.segments();
  expect(readdirSync(join(folder, 'reuse', 'segments'))).toEqual([`${segment!.id}.seg`]);
  const numberOf = (id: string) => Number(id.slice(segment!.run.length + 1));
  expect(numberOf(segment!.id)).toBeGreaterThan(numberOf(first!.id));
});

it.each([
  ['a record with another number of fields', 'Harbor Hardware,44,5', 'SOURCE_FIELD_COUNT', /--delimiter/],
  ['bytes that are not UTF-8', 'Caf\xe9,44', 'SOURCE_ENCODING', /--encoding windows-1252/],
  ['no row', '', 'SOURCE_NO_RECORDS', /--encoding and --delimiter/],
])(
  '%s is refused with a hint that is about the file and not about the source',
  async (_, row, code, hint) => {
    const { path, importAt } = await openImport();
    await writeFile(path, `BusinessName,code\n${row}\n`, 'latin1');
    const error = await importAt(Date.now()).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code, hint: expect.stringMatching(hint) });
    expect((error as { hint: string }).hint).not.toMatch(/source\.|foliopipe (?:run|plan)/);
  },
);

it('a part and a record that are no such numbers are taken for unknown', async () => {
  const lineage = ['run', 'folio', 'part', 'record', 'answered_at'];
  const own = ['status', 'error_code', 'error', 'code', ...lineage].map((name) => `prediction_${name}`);
  const { folder, importAt } = await openImportOf(
    `BusinessName,${own}`,
    'Harbor Hardware,SUCCESSFUL,,,44,R1,F1,1e30,-5,2026-01-02T00:00:00Z',
    'Bakery,SUCCESSFUL,,,31,R1,F2,3,1.5,2026-01-02T00:00:00Z',
  );
  expect(await importAt(Date.now())).toMatchObject({ successful: 2 });
  const [name] = readdirSync(join(folder, 'reuse', 'segments'));
  const { origins } = directoryOf(readFileSync(join(folder, 'reuse', 'segments', name!)));
  expect(origins).toMatchObject([
    { folio: 'F1', part: null },
    { folio: 'F2', part: 3 },
  ]);
});

/** The directory of a segment: before the last 16 bytes, which say how long it is. */
function directoryOf(file: Buffer): { readonly origins: readonly object[] } {
  const end = file.length - 16;
  return JSON.parse(file.toString('utf8', end - file.readUInt32LE(end + 8), end));
}
