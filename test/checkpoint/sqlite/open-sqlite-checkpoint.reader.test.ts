/** Reading without the lock, while a run writes and after it. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  openCheckpointReader,
  openSqliteCheckpoint,
} from '../../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { sampleChunk, sampleRun } from '../../helpers/checkpoint/samples.js';
import { withFolder } from '../../helpers/folders/folders.js';

describe('openCheckpointReader', () => {
  it('finds no state where there is none, and makes none', () =>
    withFolder(async (folder) => {
      expect(await openCheckpointReader(join(folder, 'state'))).toBeUndefined();
      expect(await openCheckpointReader(folder)).toBeUndefined();
      expect(await readdir(folder)).toEqual([]);
    }));

  it('finds no state in a file whose tables are yet to be made', () =>
    withFolder(async (folder) => {
      await writeFile(join(folder, 'checkpoint.db'), '');
      expect(await openCheckpointReader(folder)).toBeUndefined();
    }));

  it('sees each change as soon as it is recorded, and does not block a writer', () =>
    withFolder(async (folder) => {
      const checkpoint = await openSqliteCheckpoint(folder);
      await checkpoint.recordRun(sampleRun('r1'));
      const reader = await openCheckpointReader(folder);
      expect(await reader?.lastCut('r1', 0)).toBeUndefined();
      await checkpoint.recordCut('r1', sampleChunk(1));
      expect((await reader?.lastCut('r1', 0))?.number).toBe(1);
      await checkpoint.close();
      expect((await reader?.tally('r1'))?.chunks.cut).toBe(1);
      await reader?.close();
    }));

  it('reads what a run left behind', () =>
    withFolder(async (folder) => {
      const checkpoint = await openSqliteCheckpoint(folder);
      await checkpoint.recordRun(sampleRun('r1'));
      await checkpoint.close();
      const reader = await openCheckpointReader(folder);
      expect((await reader?.latestRun('nightly'))?.id).toBe('r1');
      await reader?.close();
    }));
});
