/** Whichever attempts fail, a record ends with its first success or, without one, its last reason. */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sendRound } from '../../pipelines/answer-failed.js';
import { isRoundCut, retryFailed } from '../../src/stages/failed/retry-failed.js';
import { mergePartly } from '../../src/stages/merge/merge-partly.js';
import { mergeResults } from '../../src/stages/merge/merge-results.js';
import { createAttemptsApi } from '../fake-service/fake-api.js';
import { useFolder } from '../helpers/folders/folders.js';
import { forTime } from '../helpers/properties/for-time.js';
import { createStageRun, downloadAll, nothing } from '../helpers/stages/stage-run.js';
import { collect } from '../helpers/streams/collect.js';

const folder = useFolder();

const job = fc.record({
  /** For each record, whether its n-th attempt succeeds; later attempts fail. */
  successes: fc.array(fc.array(fc.boolean(), { maxLength: 4 }), { minLength: 1, maxLength: 14 }),
  rounds: fc.integer({ min: 0, max: 3 }),
  maxRecords: fc.integer({ min: 1, max: 5 }),
  keyColumn: fc.constantFrom('id', null),
  /** Chunks that are cut in each round before the process ends; the next process goes on. */
  cutBefore: fc.nat(3),
});

it('rounds of failed records end as the first success of each', async () => {
  await fc.assert(
    fc.asyncProperty(job, async ({ successes, rounds, maxRecords, keyColumn, cutBefore }) => {
      const { api, attempts } = createAttemptsApi(successes);
      const run = await createStageRun(await folder(), {
        records: successes.length,
        api,
        config: {
          upload: { columns: { name: 'name' }, keyColumn },
          chunks: { maxRecords },
          failures: { tolerate: '100%' },
          result: { columns: ['code'] },
        },
      });
      const open = { ...run, found: 'continued' as const, close: async () => undefined };
      await downloadAll(run);
      let settled = 0;
      for (; settled < rounds; settled++) {
        await cutSome(run, settled + 1, cutBefore);
        if (!(await sendRound(open))) break;
      }

      const rows = await collect(mergeResults(run)(nothing()));
      const text = rows.map(({ bytes }) => bytes.toString()).join('');
      // A deadline now publishes the same, except for what is not settled.
      const partly = await collect(mergePartly(run));
      expect(partly.map(({ bytes }) => bytes.toString()).join('')).toBe(text);
      const found = (parse(text) as string[][]).map((row) => row.slice(2));
      expect(found).toEqual(
        successes.map((outcomes, at) => {
          const n = at + 1;
          const first = outcomes.slice(0, rounds + 1).indexOf(true);
          return first >= 0
            ? ['SUCCESSFUL', '', '', `c${n}.${first + 1}`]
            : ['FAILED', 'SERVICE_FAILED', `r${n}.${rounds + 1}`, ''];
        }),
      );
      const failed = found.filter(([status]) => status === 'FAILED').length;
      expect(rows.reduce((sum, { counts }) => sum + counts.failed, 0)).toBe(failed);
      expect(await isRoundCut(run, settled + 1)).toBe(failed === 0);
      // Nothing is paid needlessly: a success ends the attempts of its record.
      for (const [at, outcomes] of successes.entries()) {
        const first = outcomes.slice(0, rounds + 1).indexOf(true);
        expect(attempts.get(at + 1)).toBe(first >= 0 ? first + 1 : rounds + 1);
      }
    }),
    forTime(4_000, 60),
  );
});

/** Cuts the first chunks of a round, like a process that is killed after them. */
async function cutSome(run: Parameters<typeof retryFailed>[0], round: number, chunks: number): Promise<void> {
  const cutting = retryFailed(run, round)();
  for (let cut = 0; cut < chunks; cut++) if ((await cutting.next()).done) break;
  await cutting.return(undefined);
}
