/** Columns that the service adds during a run, or between two nights, under `result.onChange: add`. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import pLimit from 'p-limit';
import { describe, expect, it } from 'vitest';
import { collect, InterruptedError, publish, recover, retry, submit } from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type Answer, predictedAnswer, type SentRecord } from '../../fake-service/parts.js';
import { shuffled } from '../../fake-service/troubles.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { failing, failingSetup } from '../../helpers/jobs/failing-job.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';
import { fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';
import { enrichmentOf, sentOf } from '../../helpers/jobs/sample-source.js';
import { killCliAt } from '../../helpers/processes/cli.js';
import { loseCheckpoint } from '../../helpers/state/killed-state.js';

const first = ['naics_code', 'naics_title', 'confidence'];
const all = [...first, 'surprise', 'another'];
const result = { onChange: 'add' };

/** From record 31 on, the service adds a column; from record 51 on, two. */
function growing(record: SentRecord): Answer {
  const { status, added } = predictedAnswer(record);
  const number = Number(record.record_id);
  if (status === 'FAILED') return { status, added };
  const surprise = number > 30 ? { surprise: `boo ${number}` } : {};
  const another = number > 50 ? { another: `moo ${number}` } : {};
  return { status, added: { ...added, ...surprise, ...another } };
}

const behaviour: Behaviour = {
  answer: growing,
  results: shuffled,
  partRecords: 4,
  finishedAtPoll: ({ chunk }) => (chunk % 3) + 1,
};

const expectGrown = (job: Job) =>
  expectEnriched(job, (row, number) => enrichmentOf(growing({ ...sentOf(row), record_id: String(number) })));

const withGrowing = (config: Changes, use: (job: Job) => Promise<void>) =>
  withJob({ behaviour, config: { result, ...config } }, use);

describe('columns that the service adds in the middle of a run', () => {
  it('are empty in the rows before, and are paid for once', () =>
    withGrowing({}, async (job) => {
      const summary = await job.enrich();
      await expectSuccess(job, summary, failingAmong(60));
      expect(summary.columns).toEqual(all);
      await expectGrown(job);
      expect(job.service.count('upload')).toBe(6);
      expect(await job.enrich()).toMatchObject({ found: 'done', publishedAgain: null });
    }));

  it('come behind the declared ones, and the run stays done', () =>
    withGrowing({ result: { ...result, columns: ['confidence', 'naics_code'] } }, async (job) => {
      const columns = ['confidence', 'naics_code', 'naics_title', 'surprise', 'another'];
      expect((await job.enrich()).columns).toEqual(columns);
      await expectGrown(job);
      expect(await job.enrich()).toMatchObject({ found: 'done', publishedAgain: null });
    }));

  it('are known to the next night', () =>
    withGrowing({}, async (job) => {
      await job.enrich();
      await writeFile(job.sourcePath, (await readFile(job.sourcePath, 'utf8')).replaceAll(/note/g, 'Note'));
      job.service.behaviour = { ...behaviour, answer: predictedAnswer };
      const next = await job.enrich();
      expect(next).toMatchObject({ found: 'new', columns: all });
      await expectEnriched(job);
    }));

  it('are found by collect, and written again by publish', () =>
    withGrowing({}, async (job) => {
      await submit(job.config());
      expect((await collect(job.config())).columns).toEqual(all);
      await expectGrown(job);
      const output = await job.output();
      await rm(job.outputPath);
      const { run, publishedAgain } = await job.enrich();
      expect(publishedAgain).not.toBeNull();
      expect(await job.output()).toBe(output);
      await publish(job.config(), run);
      expect(await job.output()).toBe(output);
    }));

  it.each([5, 40])('pass a canary of %i records', (canary) =>
    withGrowing({ chunks: { canary } }, async (job) => {
      expect((await job.enrich()).columns).toEqual(all);
      await expectGrown(job);
    }),
  );

  it('are in the partial output at a deadline, and in the whole one', () =>
    withGrowing({}, async (job) => {
      job.service.behaviour = {
        ...behaviour,
        finishedAtPoll: ({ chunk }) => (chunk === 2 ? Infinity : 1),
      };
      const partly = await job.enrich({}, deadlineAt({ 'after-downloaded-before-merge': 5 }));
      expect(partly).toMatchObject({ exitCode: 8, counts: { unprocessed: 10 }, columns: all });
      job.service.behaviour = behaviour;
      await expectSuccess(job, await job.enrich(), failingAmong(60));
      await expectGrown(job);
    }));

  it('are in the output of a recovered run', () =>
    withGrowing({}, async (job) => {
      await job.enrich();
      const output = await job.output();
      await loseCheckpoint(job);
      await recover(job.config());
      await rm(job.outputPath);
      expect((await job.enrich()).columns).toEqual(all);
      expect(await job.output()).toBe(output);
      expect(job.service.count('upload')).toBe(6);
    }));

  it('are added to a run that was published without them', () =>
    withGrowing({ result: { onChange: 'ignore' } }, async (job) => {
      expect((await job.enrich()).columns).toEqual(first);
      await rm(job.outputPath);
      expect((await job.enrich({ result })).columns).toEqual(all);
      await expectGrown(job);
    }));
});

const adding = (from: number, ...add: readonly string[]) => ({
  on: 'download',
  folio: { from },
  fault: { columns: { add } },
});

describe('columns that come with a round', () => {
  it.each(['a round', 'retry'])('of %s are empty in all other rows', (by) =>
    withLocalJob(failingSetup([failing('50%', 3), adding(4, 'surprise')], { result }), async (job) => {
      const rounds = by === 'retry' ? 0 : 1;
      const before = await job.enrich({ failures: { tolerate: '100%', rounds } });
      if (by === 'retry') await retry(job.config(), before.run);
      const rows = await job.rows();
      const sentAgain = rows.filter(({ prediction_surprise: cell }) => cell === 'added');
      expect(sentAgain.length).toBeGreaterThan(10);
      expect(rows.length - sentAgain.length).toBeGreaterThan(5);
      for (const row of rows) {
        expect(row.prediction_status).toBe('SUCCESSFUL');
        expect(row.prediction_naics_code).not.toBe('');
      }
    }),
  );
});

describe('a kill while columns are added', () => {
  const limit = pLimit(2);
  const setup = {
    names: fineNames(40),
    rules: [adding(3, 'another', 'surprise'), adding(2, 'surprise')],
    config: { result, concurrency: { uploads: 1 } },
  };
  let unbroken: Promise<string> | undefined;
  const unbrokenOutput = () => {
    unbroken ??= new Promise((resolve, reject) => {
      withLocalJob(setup, async (job) => {
        await job.enrich();
        resolve(await readFile(job.output, 'utf8'));
      }).catch(reject);
    });
    return unbroken;
  };
  const moments = [
    ['after-columns-added-before-merge', 1],
    ['after-columns-added-before-merge', 2],
    ['after-work-write-before-commit', 2],
    ['after-work-write-before-commit', 3],
    ['after-merged-before-next', 2],
    ['after-merged-before-next', 4],
  ] as const;

  it.concurrent.each(moments)('%s, time %i, changes nothing in the output', (point, nth) =>
    limit(() =>
      withLocalJob(setup, async (job) => {
        await killCliAt(`${point}:${nth}`, ['run', job.file]);
        const summary = await job.enrich();
        expect(summary).toMatchObject({ exitCode: 0, uploads: { accepted: 4 } });
        expect(summary.columns).toEqual([...first, 'surprise', 'another']);
        expect(await readFile(job.output, 'utf8')).toBe(await unbrokenOutput());
      }),
    ),
  );
});

describe('answers of an earlier night', () => {
  const reuse = { maxAge: '90d', maxMiss: '100%' };

  it('have an added column empty, and their number is said', () =>
    withGrowing({ reuse }, async (job) => {
      job.service.behaviour = { ...behaviour, answer: predictedAnswer };
      await job.enrich();
      const lines = (await readFile(job.sourcePath, 'utf8')).replaceAll('Plain Ltd', 'Changed Ltd');
      await writeFile(job.sourcePath, lines);
      const late = (record: SentRecord): Answer => {
        const { status, added } = predictedAnswer(record);
        return { status, added: status === 'FAILED' ? added : { ...added, surprise: 'boo' } };
      };
      job.service.behaviour = { ...behaviour, answer: late };
      const summary = await job.enrich();
      expect(summary.columns).toEqual([...first, 'surprise']);
      let reused = 0;
      await expectEnriched(job, (row) => {
        const { Business: name = '' } = row;
        const isNew = name.startsWith('Changed');
        if (!isNew && !name.startsWith('Failing')) reused += 1;
        return enrichmentOf((isNew ? late : predictedAnswer)(sentOf(row)));
      });
      expect(reused).toBeGreaterThan(30);
      expect(summary.columnsMissing).toEqual({ surprise: reused });
      expect(await job.manifest()).toMatchObject({ columnsMissing: { surprise: reused } });
    }));

  /** Depends on what is sent alone, so that equal records have equal answers. */
  const byAddress = (record: SentRecord): Answer => {
    const { status, added } = predictedAnswer(record);
    const isLate = status === 'SUCCESSFUL' && Number.parseInt(record.address!, 10) > 30;
    return { status, added: isLate ? { ...added, surprise: `boo at ${record.address}` } : added };
  };
  const expectByAddress = (job: Job) => expectEnriched(job, (row) => enrichmentOf(byAddress(sentOf(row))));

  it('keep a column that the run which has paid for them could not publish', () =>
    withJob({ behaviour: { ...behaviour, answer: byAddress }, config: { reuse } }, async (job) => {
      expect(await job.failure()).toMatchObject({ code: 'COLUMNS_CHANGED' });
      await collect(job.config({ result: { onChange: 'fail' } })).catch(() => undefined);
      const uploads = job.service.count('upload');
      expect(uploads).toBe(6);
      const summary = await job.enrich({ result }, { fresh: true });
      expect(summary.columns).toEqual([...first, 'surprise']);
      expect(job.service.count('upload')).toBe(uploads);
      await expectByAddress(job);
    }));

  it('are written again with the answers of equal records, also after a kill', () =>
    withJob({ behaviour: { ...behaviour, answer: byAddress }, config: { result } }, async (job) => {
      const once = { reuse, upload: { duplicates: 'once' }, chunks: { maxRecords: 5 } };
      const error = await job.failure(once, stopAt('after-columns-added-before-merge', 1));
      expect(error).toBeInstanceOf(InterruptedError);
      const summary = await job.enrich(once);
      expect(summary).toMatchObject({ exitCode: 0, columns: [...first, 'surprise'] });
      await expectByAddress(job);
    }));
});
