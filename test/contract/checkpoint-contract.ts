/** What every implementation of the checkpoint's port does. */
import { describe } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import { adoptionContract } from './checkpoint-adoption.js';
import { budgetContract } from './checkpoint-budget.js';
import { confirmedContract } from './checkpoint-confirmed.js';
import { cuttingContract } from './checkpoint-cutting.js';
import { historyContract } from './checkpoint-history.js';
import { neighbourContract } from './checkpoint-neighbours.js';
import { outputContract } from './checkpoint-output.js';
import { pruningContract } from './checkpoint-pruning.js';
import { publicationContract } from './checkpoint-publication.js';
import { resultContract } from './checkpoint-results.js';
import { roundContract } from './checkpoint-rounds.js';
import { runContract } from './checkpoint-runs.js';
import { searchContract } from './checkpoint-searches.js';
import { segmentContract } from './checkpoint-segments.js';
import { splitContract } from './checkpoint-splits.js';
import { uploadContract } from './checkpoint-uploads.js';
import { withheldContract } from './checkpoint-withheld.js';

/** Calls `use` with an empty checkpoint, closed afterwards. */
export type WithCheckpoint = (use: (checkpoint: Checkpoint) => Promise<void>) => Promise<void>;

/** Registers the suite for one implementation. */
export function checkpointContract(name: string, withCheckpoint: WithCheckpoint): void {
  describe(`checkpoint: ${name}`, () => {
    runContract(withCheckpoint);
    cuttingContract(withCheckpoint);
    splitContract(withCheckpoint);
    uploadContract(withCheckpoint);
    adoptionContract(withCheckpoint);
    budgetContract(withCheckpoint);
    resultContract(withCheckpoint);
    neighbourContract(withCheckpoint);
    roundContract(withCheckpoint);
    searchContract(withCheckpoint);
    outputContract(withCheckpoint);
    publicationContract(withCheckpoint);
    historyContract(withCheckpoint);
    withheldContract(withCheckpoint);
    confirmedContract(withCheckpoint);
    pruningContract(withCheckpoint);
    segmentContract(withCheckpoint);
  });
}
