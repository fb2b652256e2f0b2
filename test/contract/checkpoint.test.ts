/** The contract of the checkpoint's port, over every implementation of it. */
import { openSqliteCheckpoint } from '../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';
import { withEmptyState } from '../helpers/state/prepared-state.js';
import { checkpointContract } from './checkpoint-contract.js';

checkpointContract('SQLite', (use) =>
  withEmptyState(async (folder) => {
    const checkpoint = await openSqliteCheckpoint(folder);
    try {
      await use(checkpoint);
    } finally {
      await checkpoint.close();
    }
  }),
);

checkpointContract('in memory', async (use) => use(createMemoryCheckpoint()));
