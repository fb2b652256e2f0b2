/** The budget is reserved with the intent, counts all runs of the pipeline, and is never exceeded. */
import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { type GuardError, planRun } from '../../../pipelines/index.js';
import { hintOf } from '../../../src/hints.js';
import { silentLogger } from '../../../src/logger.js';
import { systemClock } from '../../../src/streams/clock.js';
import { expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';

/** 22:30 in Denver, 05:30 of the next day in London. */
const evening = Date.UTC(2026, 10, 29, 5, 30);
const hour = 60 * 60 * 1000;

describe('a budget', () => {
  it.each(['perDay', 'perMonth'] as const)(
    '%s stops the uploads before it is exceeded, and a higher one lets the run go on',
    async (cap) => {
      await withJob({ behaviour }, async (job) => {
        const error = await stopped(job, { budget: { [cap]: 35 } });
        expect(error).toMatchObject({ exitCode: 9, code: 'BUDGET_REACHED', facts: { cap, limit: 35 } });
        expect(hintOf(error)).toContain(`budget.${cap}`);
        expect(job.service.folios).toHaveLength(3);
        expect(await stopped(job, { budget: { [cap]: 35 } })).toMatchObject({ code: 'BUDGET_REACHED' });
        expect(job.service.folios).toHaveLength(3);
        await expectSuccess(job, await job.enrich({ budget: { [cap]: 60 } }), all);
        expect(await job.output()).toBe(await unbrokenOutput());
        expect(job.service.folios).toHaveLength(6);
      });
    },
  );

  it('of a day below one chunk is warned of before anything is sent, and the error says that waiting is no way', async () => {
    await withJob({ behaviour }, async (job) => {
      const warned: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, text: string) => void warned.push(text) };
      const config = { budget: { perDay: 9 } };
      const error = (await job.failure(config, { logger })) as GuardError;
      expect(warned[1]).toMatch(/^budget\.perDay is below chunks\.maxRecords \(10\): .* --new --set/);
      expect(error).toMatchObject({ exitCode: 9, code: 'BUDGET_REACHED' });
      expect(hintOf(error)).toMatch(
        /^raise budget\.perDay \(waiting does not help: this request alone has 10\)/,
      );
      expect(job.service.folios).toHaveLength(0);
      const smaller = { ...config, chunks: { maxRecords: 9 } };
      await job.failure(smaller, { fresh: true });
      expect(job.service.folios).toHaveLength(1);
    });
  });

  it('of a day starts again the next day, in its time zone', async () => {
    const budget = { perDay: 40, timeZone: 'America/Denver' };
    await withJob({ behaviour, config: { budget } }, async (job) => {
      expect(await stopped(job, {}, evening)).toMatchObject({ code: 'BUDGET_REACHED' });
      // 23:30 in Denver is still the same day.
      expect(await stopped(job, {}, evening + hour)).toMatchObject({ code: 'BUDGET_REACHED' });
      expect(job.service.folios).toHaveLength(4);
      const summary = await job.enrich({}, { clock: at(evening + 2 * hour) });
      await expectSuccess(job, summary, all);
      expect(job.service.folios).toHaveLength(6);
    });
  });

  it('of a month counts all runs of the pipeline in it', async () => {
    const budget = { perMonth: 100 };
    await withJob({ behaviour, config: { budget } }, async (job) => {
      await job.enrich({}, { clock: at(evening) });
      await writeFile(job.sourcePath, sourceText(50));
      expect(await stopped(job, {}, evening + hour)).toMatchObject({
        facts: { cap: 'perMonth', spent: 100 },
      });
      const plan = await planRun(job.config(), { signal: new AbortController().signal });
      expect(plan.budget).toMatchObject([{ cap: 'perMonth', limit: 100 }]);
      const december = at(Date.UTC(2026, 11, 1));
      expect(await job.enrich({}, { clock: december })).toMatchObject({ exitCode: 0, found: 'continued' });
    });
  });

  it('that is too small for the run is reported before anything is sent', async () => {
    await withJob({ behaviour }, async (job) => {
      const error = await stopped(job, { budget: { perRun: 59 } });
      expect(error).toMatchObject({ exitCode: 9, code: 'BUDGET_TOO_SMALL' });
      expect(job.service.seen).toEqual([]);
      expect(await job.enrich({ budget: { perRun: 60 } })).toMatchObject({ exitCode: 0 });
    });
  });

  it('counts ambiguous uploads as spent, and certainly refused ones as not spent', async () => {
    const lost = {
      ...behaviour,
      trouble: ({ operation, nth }: { operation: string; nth: number }) => {
        if (operation !== 'upload') return undefined;
        if (nth === 1) return { kind: 'answer', status: 503 } as const;
        return nth === 3 ? ({ kind: 'lose', share: 0 } as const) : undefined;
      },
    };
    await withJob({ behaviour: lost, config: { budget: { perRun: 60 } } }, async (job) => {
      const error = await stopped(job);
      // The ten records of the lost reply count as spent: sending them again would be the seventh upload.
      expect(error).toMatchObject({ code: 'BUDGET_REACHED', facts: { cap: 'perRun', spent: 60 } });
      expect(job.service.folios).toHaveLength(6);
      expect(await job.enrich({ budget: { perRun: 70 } })).toMatchObject({
        exitCode: 0,
        uploads: { accepted: 6, ambiguous: 1, resubmitted: 1 },
      });
    });
  });
});

function at(now: number) {
  const began = Date.now();
  return { ...systemClock, now: () => now + Date.now() - began };
}

async function stopped(job: Job, changes = {}, now?: number): Promise<GuardError> {
  return (await job.failure(changes, now === undefined ? {} : { clock: at(now) })) as GuardError;
}
