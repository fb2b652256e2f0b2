/** Reading the source again in the middle of a run. */
import { existsSync } from 'node:fs';
import { utimes } from 'node:fs/promises';
import { expect, it } from 'vitest';
import {
  checkAllFiles,
  firstPosition,
  lastFile,
  openSourceBlocks,
  watchFiles,
} from '../../src/stages/read-source.js';
import type { Source } from '../../src/types.js';
import { useFolder } from '../helpers/folders/folders.js';
import { createStageRun } from '../helpers/stages/stage-run.js';

const folder = useFolder();

/** A regular file that nobody may read, root included. */
const path = '/proc/self/clear_refs';

it.runIf(existsSync(path))('a file that can no longer be read is told as the source', async () => {
  const file = { path, bytes: 0, stamp: 'of before', sha256: 'of before', dataStart: 0 };
  const source = { files: [file] } as unknown as Source;
  const { signal } = new AbortController();
  await expect(checkAllFiles({ source, signal })).rejects.toMatchObject({
    code: 'SOURCE_UNREADABLE',
    exitCode: 4,
    message: expect.stringContaining(path),
    hint: expect.stringMatching(/./),
    facts: { file: path },
  });
});

it('a file that was touched is no longer read once the run is stopped', async () => {
  const run = await createStageRun(await folder());
  await utimes(run.source.files[0]!.path, 1, 1);
  run.controller.abort(new Error('stopped'));
  await expect(checkAllFiles(run)).rejects.toThrow('stopped');
});

it('each reader notices that a file was touched, whoever looks first', async () => {
  const run = await createStageRun(await folder());
  const all = [firstPosition(run.source).position, lastFile(run.source)] as const;
  const readers = [watchFiles(run), watchFiles(run)];
  for (const isTouched of readers) expect(await isTouched(...all)).toBe(false);
  await utimes(run.source.files[0]!.path, 1, 1);
  await checkAllFiles(run);
  for (const isTouched of readers) expect(await isTouched(...all)).toBe(true);
  expect(await watchFiles(run)(...all)).toBe(false);
});

it('blocks go on where they were when the source is touched, also behind records that were skipped', async () => {
  const run = await createStageRun(await folder());
  const blocks = openSourceBlocks(run, firstPosition(run.source));
  await blocks.skipTo(3);
  for (const [time, numbers] of [[3], [4, 5], [6], []].entries()) {
    await utimes(run.source.files[0]!.path, time, time);
    expect([...(await blocks.take(Math.max(numbers.length, 1))).numbers]).toEqual(numbers);
  }
  await blocks.close();
});
