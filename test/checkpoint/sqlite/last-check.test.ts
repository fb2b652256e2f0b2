/** When every page of a checkpoint is checked at its opening. */
import { copyFile, readFile, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { lastCheck } from '../../../src/checkpoint/sqlite/last-check.js';
import { openSqliteCheckpoint } from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';

const DAY = 24 * 3600 * 1000;

/** Calls `use` with the path of a database that one process has written and closed. */
function withClosed(use: (path: string, folder: string) => Promise<void>): Promise<void> {
  return withFolder(async (folder) => {
    const checkpoint = await openSqliteCheckpoint(folder);
    await checkpoint.recordRun(sampleRun('r1'));
    await checkpoint.close();
    await use(join(folder, 'checkpoint.db'), folder);
  });
}

it('a checkpoint that was closed is checked again only after a week, also if it was opened in between', () =>
  withClosed(async (path, folder) => {
    const now = Date.now();
    const checked = lastCheck(path, now);
    expect(checked).toBeLessThanOrEqual(now);
    expect(lastCheck(path, now + 6 * DAY)).toBe(checked);
    expect(lastCheck(path, now + 8 * DAY)).toBeUndefined();
    expect(lastCheck(path, now - DAY)).toBeUndefined();
    const again = await openSqliteCheckpoint(folder);
    await again.recordRun(sampleRun('r2'));
    await again.close();
    expect(lastCheck(path, now)).toBe(checked);
  }));

it('it is checked while its log holds changes, as after a kill', () =>
  withClosed(async (path, folder) => {
    const checkpoint = await openSqliteCheckpoint(folder);
    await checkpoint.recordRun(sampleRun('r2'));
    expect(lastCheck(path, Date.now())).toBeUndefined();
    await checkpoint.close();
    expect(lastCheck(path, Date.now())).toBeDefined();
  }));

it.each<[string, (path: string) => Promise<void>]>([
  ['was copied', (path) => copyFile(path, `${path}.copy`).then(() => rename(`${path}.copy`, path))],
  [
    'was edited, and its times put back',
    async (path) => {
      const bytes = await readFile(path);
      await writeFile(path, bytes);
      await utimes(path, new Date(0), new Date(0));
    },
  ],
  ['has an unreadable note', (path) => writeFile(`${path}.checked`, 'no\n')],
])('it is checked if it %s', (_, change) =>
  withClosed(async (path) => {
    await change(path);
    expect(lastCheck(path, Date.now())).toBeUndefined();
  }),
);

it('a file that takes the place of the open one is checked', () =>
  withClosed(async (path, folder) => {
    const checkpoint = await openSqliteCheckpoint(folder);
    await copyFile(path, `${path}.copy`);
    await rename(`${path}.copy`, path);
    await expect(checkpoint.close()).rejects.toMatchObject({ code: 'CHECKPOINT_GONE' });
    expect(lastCheck(path, Date.now())).toBeUndefined();
  }));
