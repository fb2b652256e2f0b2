/** The contract of a pipeline's lock, over every implementation of it. */
import type { LockHolder } from '../../src/checkpoint/pipeline-lock.js';
import { createFileLock } from '../../src/checkpoint/sqlite/pipeline-lock.js';
import { withFolder } from '../helpers/folders/folders.js';
import { createMemoryLock } from '../helpers/memory/memory-lock.js';
import { lockContract } from './lock-contract.js';

lockContract('on the disk', (use) => withFolder((folder) => use(() => createFileLock(folder))));

lockContract('in memory', async (use) => {
  const held = new Map<string, LockHolder>();
  await use(() => createMemoryLock(held));
});
