/** The contract of the checkpoint's port, over every implementation of it. */
import { expect, it } from 'vitest';
import { openSqliteCheckpoint } from '../../src/checkpoint/sqlite/open-sqlite-checkpoint.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';
import { recording } from '../helpers/recording.js';
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

/** The methods of the port that the contract has called. */
const called = new Set<string>();

checkpointContract('in memory', async (use) => use(recording(createMemoryCheckpoint(), called)));

it('the contract calls every method of the port', () => {
  const methods = Object.keys(createMemoryCheckpoint());
  // What closes one, and what only a journal has.
  const others = ['close', 'verifyPaid'];
  expect(methods.filter((name) => !called.has(name) && !others.includes(name))).toEqual([]);
});
