/** Pipelines of one account that reserve records at the same moment, each in a process of its own. */
import { expect, it } from 'vitest';
import { addChunk, beginUpload } from '../../helpers/checkpoint/advance-chunk.js';
import { sampleBudget, sampleRun } from '../../helpers/checkpoint/samples.js';
import { usePostgres } from '../../helpers/postgres/postgres.js';
import { openState, useStateDatabase } from '../../helpers/postgres/postgres-state.js';

const shared = useStateDatabase(usePostgres());

const pipelines = ['nightly', 'weekly'];
const DAYS = 25;

it('never pass the cap of a day together', async () => {
  const states = await Promise.all(pipelines.map(() => openState(shared.database)));
  try {
    for (const [at, { lock, checkpoint }] of states.entries()) {
      const pipeline = pipelines[at]!;
      await lock.take(pipeline, { pid: 1, command: 'foliopipe run', since: 0 });
      await checkpoint.recordRun(sampleRun(pipeline, { pipeline }));
      for (let nth = 1; nth <= DAYS; nth++) await addChunk(checkpoint, pipeline, nth, 'cut');
    }
    for (let nth = 1; nth <= DAYS; nth++) {
      // Room for one chunk of 10 records.
      const budget = sampleBudget({ day: `2026-10-${String(nth).padStart(2, '0')}`, perDay: 15 });
      const begun = await Promise.allSettled(
        states.map(({ checkpoint }, at) => beginUpload(checkpoint, pipelines[at]!, nth, 1, budget)),
      );
      const refused = begun.filter(({ status }) => status === 'rejected');
      expect(refused).toEqual([
        { status: 'rejected', reason: expect.objectContaining({ code: 'BUDGET_REACHED' }) },
      ]);
    }
  } finally {
    for (const state of states) await state.close();
  }
});
