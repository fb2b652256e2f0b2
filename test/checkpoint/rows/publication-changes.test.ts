import { expect, it } from 'vitest';
import { CheckpointStateError } from '../../../src/checkpoint/checkpoint-errors.js';
import type { MakeChange } from '../../../src/checkpoint/rows/change.js';
import { publicationChanges } from '../../../src/checkpoint/rows/publication-changes.js';
import { samplePublication } from '../../helpers/checkpoint/samples.js';

it('unmerges no rows of a run that was not opened again, as one that is pruned', async () => {
  const asked: string[] = [];
  const publishing = { pipeline: 'nightly', publication: JSON.stringify(samplePublication) };
  const make: MakeChange =
    (change) =>
    async (...args) => {
      const steps = change(...args);
      let step = steps.next([]);
      while (!step.done) {
        const verb = step.value.sql.trim().split(' ')[0]!;
        asked.push(verb);
        step = steps.next(verb === 'SELECT' ? [publishing] : []);
      }
      return step.value;
    };
  const { recordUnpublished, recordDone } = publicationChanges(make);
  await expect(recordUnpublished('r1')).rejects.toThrow(CheckpointStateError);
  expect(asked).toEqual(['SELECT', 'UPDATE']);
  await expect(recordDone('r1', 9)).rejects.toThrow(CheckpointStateError);
});
