/** A short version of the fuzzing proof with fixed seeds; `npm run prove:fuzz` runs for as long as wanted. */
import { expect, it } from 'vitest';
import { runFuzz } from '../../prove/fuzz/run-fuzz.js';

it.each([20261121, 7])(
  'seed %i: scanner and csv-parse agree, and jobs lose and change nothing',
  async (seed) => {
    const totals = await runFuzz(seed, ({ job }) => job < 2);
    expect(totals).toMatchObject({ scan: 200, file: 16, job: 2 });
    expect(totals.records).toBeGreaterThan(1000);
  },
);
