/** What every implementation of the checkpoint's port does. */
import { describe } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { outputContract } from './checkpoint-output.js';
import { resultContract } from './checkpoint-results.js';
import { runContract } from './checkpoint-runs.js';
import { uploadContract } from './checkpoint-uploads.js';

/** Calls `use` with an empty checkpoint, closed afterwards. */
export type WithCheckpoint = (use: (checkpoint: Checkpoint) => Promise<void>) => Promise<void>;

/** Registers the suite for one implementation. */
export function checkpointContract(name: string, withCheckpoint: WithCheckpoint): void {
  describe(`checkpoint: ${name}`, () => {
    runContract(withCheckpoint);
    uploadContract(withCheckpoint);
    resultContract(withCheckpoint);
    outputContract(withCheckpoint);
  });
}
