/** What an import takes, and imports of the same file by a clock that a test sets. */
import { readdirSync } from 'node:fs';
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
async function openImport(...rows: readonly string[]) {
  const folder = await testFolder();
  const path = join(folder, 'bought.csv');
  await writeFile(path, ['BusinessName,code', ...rows, ''].join('\n'));
  const config = parseConfig(minimalWith({ result: { columns: ['code'] } }), folder);
  const checkpoint = createMemoryCheckpoint();
  const answers = createLocalAnswerStore(join(folder, 'reuse'));
  const signal = new AbortController().signal;
  const importAt = (now: number) => importAnswers({ checkpoint, answers, signal, now }, config, { path });
  return { folder, checkpoint, importAt };
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
