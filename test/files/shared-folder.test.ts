/** Contents in a folder that several machines see, whose clocks may be wrong. */
import { describe, expect, it, vi } from 'vitest';
import { createFolderContents } from '../../src/files/shared-folder.js';
import { withFolder } from '../helpers/folders/folders.js';

const DAY_MS = 24 * 3_600_000;

describe('the contents of a shared folder', () => {
  it('are no older on a machine whose clock is ahead', () =>
    withFolder(async (folder) => {
      const contents = createFolderContents(folder, async () => false);
      expect(await contents.olderThan(DAY_MS)).toEqual([]);
      await contents.write('begun', async (append) => append(Buffer.from('bought')));
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 2 * DAY_MS });
      try {
        expect(await contents.olderThan(DAY_MS)).toEqual([]);
        expect(await contents.olderThan(-DAY_MS)).toEqual(['begun']);
      } finally {
        vi.useRealTimers();
      }
    }));
});
