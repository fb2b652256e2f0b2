/** Services that echo the sent columns changed. The run judges the echo at the first finished chunk. */
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { adopt, collect, retry, submit } from '../../../pipelines/index.js';
import { silentLogger } from '../../../src/logger.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type FakeResult, predictedAnswer } from '../../fake-service/parts.js';
import { firstTimes, givingBack, shuffled } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectSuccess,
  expectUntrusted,
  failingAmong,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { predictedEnrichment, sourceText } from '../../helpers/jobs/sample-source.js';

const all = failingAmong(60);

/** Gives every result the key of the next record. */
const shiftedKeys = (results: readonly FakeResult[]): FakeResult[] =>
  results.map((result, at) => ({
    ...result,
    sent: { ...result.sent, record_id: results[(at + 1) % results.length]!.sent.record_id! },
  }));

/** Sorts the results by name and numbers them in that order. */
const renumbered = (results: readonly FakeResult[]): FakeResult[] => {
  const first = Math.min(...results.map(({ sent }) => Number(sent.record_id)));
  const sorted = [...results].sort((a, b) => (a.sent.name! < b.sent.name! ? -1 : 1));
  return sorted.map((result, at) => ({ ...result, sent: { ...result.sent, record_id: String(first + at) } }));
};

const inColumn = (column: string) => (result: FakeResult) =>
  result.status === 'FAILED'
    ? result
    : { ...result, sent: { ...result.sent, [column]: result.added.naics_code! }, added: {} };

function changing(column: string, change: (text: string) => string): Behaviour {
  return {
    results: (results) =>
      results.map((result) => ({
        ...result,
        sent: { ...result.sent, [column]: change(result.sent[column]!) },
      })),
  };
}

/** Requests to the service other than uploads and polls. */
const downloaded = (job: Job) =>
  new Set(job.service.seen.filter(({ operation }) => operation === 'download').map(({ chunk }) => chunk));

const refused: Readonly<Record<string, { code: string; behaviour: Behaviour; echo?: string[] }>> = {
  'echoes only the state, and reverses the rows': {
    code: 'RESULTS_INDISTINCT',
    behaviour: {
      results: (results) => [...results].reverse(),
      style: () => ({ columns: givingBack('state') }),
    },
    echo: ['state'],
  },
  'numbers the records itself, after sorting them': {
    code: 'ECHO_UNPROVEN',
    behaviour: { results: renumbered },
    echo: [],
  },
  'shifts the keys by a row': {
    code: 'ECHO_UNPROVEN',
    behaviour: { results: shiftedKeys },
    echo: [],
  },
  'echoes other names and addresses, and no number': {
    code: 'ECHO_UNPROVEN',
    behaviour: {
      results: (results) =>
        results.map((result) => ({ ...result, sent: { ...result.sent, name: 'somebody' } })),
      style: () => ({ columns: givingBack('name') }),
    },
  },
  'predicts nothing': {
    code: 'NOTHING_PREDICTED',
    behaviour: {
      answer: (record) => ({ ...predictedAnswer(record), added: {} }),
    },
  },
};

describe('a service that', () => {
  it.concurrent.each(Object.entries(refused))(
    '%s gets no more uploads',
    async (_, { code, behaviour, echo }) => {
      const files = { 'source.csv': sourceText(300) };
      await withJob({ behaviour, files }, async (job) => {
        const error = await expectUntrusted(job, code);
        expect(error.message).toMatch(/^chunk \d+ \(folio /);
        const paid = job.service.count('upload');
        expect(paid).toBeLessThan(15);
        // Open folios are collected, because they are paid for.
        expect(downloaded(job).size).toBe(paid);
        await expectUntrusted(job, code);
        expect(job.service.count('upload')).toBe(paid);
        if (echo === undefined) return;
        expect(error.hint).toContain(
          code === 'ECHO_UNPROVEN' ? 'result.echo does not solve this' : 'such as result.echo: [name]',
        );
        // If the config says that this echo is right, the run goes on, even with useless answers.
        const warnings: string[] = [];
        const logger = { ...silentLogger, warn: (_: object, text: string) => void warnings.push(text) };
        const summary = await job.enrich({ result: { echo } }, { logger });
        const how = echo.length === 0 ? "by the record's number alone" : 'by equal values in order';
        const joinedOnWord = `result.echo: [${echo}] does not tell the records apart: results are joined ${how}, because you say so`;
        expect(summary).toMatchObject({ state: 'done', exitCode: 0, joinedOnWord });
        expect(warnings.filter((text) => text === joinedOnWord)).toHaveLength(1);
        expect(await job.manifest()).toMatchObject({ joinedOnWord });
        expect(job.service.count('upload')).toBe(30);
      });
    },
  );

  it('answers in a sent column gets an output column of that name', async () => {
    await withJob({ behaviour: { results: (some) => some.map(inColumn('state')) } }, async (job) => {
      const summary = await job.enrich();
      expect(summary.columns).toEqual(['state']);
      await expectSuccess(job, summary, all);
      await expectEnriched(job, (row) => {
        const { added, ...rest } = predictedEnrichment(row);
        return { ...rest, added: rest.status === 'FAILED' ? {} : { state: added.naics_code! } };
      });
    });
  });

  it.each([
    ['joined by the number', null],
    ['joined by the echoed columns', givingBack('name', 'address', 'state')],
  ])('changes capitals and blanks is accepted, which is logged once: %s', async (_, columns) => {
    const behaviour = {
      ...changing('name', (text) => `  ${text.toUpperCase().replaceAll(' ', '  ')} `),
      ...(columns && { style: () => ({ columns }) }),
    };
    await withJob({ behaviour }, async (job) => {
      const messages: string[] = [];
      const note = (_fields: object, text: string) => void messages.push(text);
      const logger = { debug: () => undefined, info: () => undefined, warn: note, error: note };
      await expectSuccess(job, await job.enrich({}, { logger }), all);
      await expectEnriched(job);
      expect(messages).toEqual([expect.stringMatching(/^name comes back with other capitals, blanks/)]);
    });
  });

  it('echoes only the number is joined by the number', async () => {
    const style = () => ({ columns: givingBack('record_id') });
    await withJob({ behaviour: { results: shuffled, style } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });

  it('may give the reason of a failure in a sent column', async () => {
    const results = (some: readonly FakeResult[]) =>
      some.map((result) =>
        result.status === 'FAILED'
          ? { ...result, sent: { ...result.sent, state: result.added.reason! }, added: {} }
          : result,
      );
    await withJob({ behaviour: { results } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });
});

describe('a later chunk', () => {
  const inThird = (change: (results: readonly FakeResult[]) => readonly FakeResult[]): Behaviour => ({
    results: (results, { chunk }) => (chunk === 3 ? change(results) : results),
    finishedAtPoll: ({ chunk }) => 2 * chunk,
  });

  it.each([
    ['whose keys are shifted', inThird(shiftedKeys), 'RESULTS_DO_NOT_MATCH'],
    [
      'with a different echo',
      inThird(([first, ...rest]) => [{ ...first!, sent: { ...first!.sent, address: 'x' } }, ...rest]),
      'RESULTS_DO_NOT_MATCH',
    ],
    [
      'without an echo',
      {
        style: ({ chunk }) => (chunk === 3 ? { columns: givingBack('record_id', 'name', 'state') } : {}),
        finishedAtPoll: ({ chunk }) => 2 * chunk,
      } satisfies Behaviour,
      'JOIN_WEAKER',
    ],
  ])('%s is not trusted', async (_, behaviour, code) => {
    await withJob({ behaviour }, async (job) => {
      const error = await expectUntrusted(job, code);
      expect(error.facts).toMatchObject({ chunk: 3 });
      const before = job.service.count('upload');
      job.service.behaviour = {};
      if (code === 'RESULTS_DO_NOT_MATCH') {
        await expectSuccess(job, await job.enrich(), all);
        await expectEnriched(job);
      }
      expect(job.service.count('upload') - before).toBeLessThanOrEqual(3);
    });
  });

  it('is compared in a round, too', async () => {
    // Failing records fail once; the second time the keys are shifted.
    const seen = new Set<string>();
    const behaviour: Behaviour = {
      answer: (record) => {
        const usual = predictedAnswer(record);
        return usual.status === 'FAILED' && seen.has(record.record_id!)
          ? { status: 'SUCCESSFUL', added: { naics_code: '1', naics_title: record.name!, confidence: '1' } }
          : usual;
      },
      results: (results, folio) => (folio.chunk > 6 ? shiftedKeys(results) : results),
      receipt: (reply, { records }) => {
        for (const { record_id } of records) seen.add(record_id!);
        return reply;
      },
      finishedAtPoll: () => 1,
    };
    await withJob({}, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      for (const { records } of job.service.folios) for (const { record_id } of records) seen.add(record_id!);
      job.service.behaviour = behaviour;
      const retried = retry(job.config(), (await lastRun(job))!, { by: 'upload' });
      await expect(retried).rejects.toMatchObject({ code: 'RESULTS_DO_NOT_MATCH', exitCode: 6 });
      job.service.behaviour = { ...behaviour, results: (results) => results };
      await job.enrich();
      await expectEnriched(job, (row) => {
        const usual = predictedEnrichment(row);
        if (usual.status === 'SUCCESSFUL') return usual;
        const added = { naics_code: '1', naics_title: row.Business!, confidence: '1' };
        return { status: 'SUCCESSFUL', code: '', error: '', added };
      });
    });
  });
});

describe('keys other than those that were sent', () => {
  const withKey = (key: (sent: string, at: number) => string): Behaviour => ({
    results: (results) =>
      [...results].reverse().map((result, at) => ({
        ...result,
        sent: { ...result.sent, record_id: key(result.sent.record_id!, at) },
      })),
  });

  it.each([
    ['reformatted', withKey((sent) => `${sent}.0`)],
    ['the service’s own', withKey((_, at) => String(at + 1))],
  ])('%s, are ignored if result.echo declares the echoed columns', async (_, behaviour) => {
    await withJob({ behaviour }, async (job) => {
      const error = await job.failure();
      expect(error).toMatchObject({ exitCode: 6 });
      const summary = await job.enrich({ result: { echo: ['name', 'address', 'state'] } });
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(job.service.count('upload')).toBe(6);
    });
  });
});

it('answers of a round that cannot be told apart are not published', async () => {
  const lines = Array.from({ length: 40 }, (_, i) => `${i % 2 ? 'Same' : `n${i}`},${i} St,MT\n`);
  const files = { 'source.csv': `Business,Address,State\n${lines.join('')}` };
  const behaviour: Behaviour = {
    answer: (record) => ({
      status: 'SUCCESSFUL',
      added: { naics_code: record.address!, naics_title: 'x', confidence: '1' },
    }),
    results: (results, { chunk }) =>
      [...results].reverse().map((result) => {
        if (chunk > 4 || result.sent.name !== 'Same') return result;
        return { ...result, status: 'FAILED', added: { reason: 'no' } };
      }),
    style: () => ({ columns: givingBack('name', 'state') }),
  };
  const config = {
    upload: { keyColumn: null },
    failures: { rounds: 1, tolerate: '100%' },
    concurrency: { uploads: 1, folios: 1 },
  };
  await withJob({ behaviour, files, config }, async (job) => {
    const error = await expectUntrusted(job, 'RESULTS_INDISTINCT');
    expect(error.message).toMatch(/^chunk \d+ \(folio /);
    const paid = job.service.count('upload');
    const summary = await job.enrich({ result: { echo: ['name', 'state'] } });
    expect(summary).toMatchObject({ state: 'done', indistinct: 20 });
    expect(job.service.count('upload')).toBe(paid);
  });
});

async function lastRun(job: Job): Promise<string | undefined> {
  const manifest = (await job.manifest()) as unknown as { readonly run: string };
  return manifest.run;
}

describe('the judgement of the echo', () => {
  it('is made by collect if the run was only submitted', async () => {
    await withJob(
      { behaviour: { results: shiftedKeys }, config: { concurrency: { folios: 8 } } },
      async (job) => {
        await submit(job.config());
        await expect(collect(job.config())).rejects.toMatchObject({ code: 'ECHO_UNPROVEN', exitCode: 6 });
        expect(downloaded(job).size).toBe(6);
        const before = job.service.seen.length;
        job.service.behaviour = { trouble: () => ({ kind: 'answer', status: 500 }) };
        const summary = await job.enrich({ result: { echo: [] } });
        expect(summary).toMatchObject({ state: 'done' });
        expect(summary.columns).toContain('name');
        expect(job.service.seen.length).toBe(before);
      },
    );
  });

  it('is made at the canary, before the rest is paid for', async () => {
    const config = { chunks: { canary: 5 } };
    await withJob({ behaviour: { results: shiftedKeys }, config }, async (job) => {
      await expectUntrusted(job, 'ECHO_UNPROVEN');
      await expectUntrusted(job, 'ECHO_UNPROVEN');
      expect(job.service.count('upload')).toBe(1);
    });
  });

  it('waits for more records if the first ones are all equal', async () => {
    const lines = Array.from({ length: 40 }, (_, i) => (i < 10 ? 'Same,1 St,MT\n' : `n${i},${i} St,WY\n`));
    const files = { 'source.csv': `Business,Address,State\n${lines.join('')}` };
    const behaviour: Behaviour = { results: shiftedKeys, finishedAtPoll: ({ chunk }) => chunk };
    const config = { concurrency: { uploads: 1, folios: 1 } };
    await withJob({ behaviour, files, config }, async (job) => {
      await expectUntrusted(job, 'RESULTS_DO_NOT_MATCH');
      expect(job.service.count('upload')).toBeLessThanOrEqual(3);
    });
  });

  it('can be overruled by result.echo, and is made again without it', async () => {
    await withJob({ behaviour: changing('state', () => 'XX') }, async (job) => {
      const wrong = await job.failure({ result: { echo: ['state'] } });
      expect(wrong).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
      const summary = await job.enrich();
      expect(summary.columns).toEqual(['state', 'naics_code', 'naics_title', 'confidence']);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is made again, and the columns with it, when result.echo changes', async () => {
    // The last chunk keeps the run open while the others are written.
    const behaviour: Behaviour = {
      ...changing('name', (text) => text.toUpperCase()),
      trouble: ({ operation, chunk }) =>
        operation === 'download' && chunk === 6 ? { kind: 'answer', status: 503 } : undefined,
    };
    await withJob({ behaviour, config: { retry: { giveUpAfter: '50ms' } } }, async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 5 });
      job.service.behaviour = changing('name', (text) => text.toUpperCase());
      const summary = await job.enrich({ result: { echo: ['address', 'state'] } });
      expect(summary.columns).toEqual(['name', 'naics_code', 'naics_title', 'confidence']);
      await expectEnriched(job, (row) => {
        const usual = predictedEnrichment(row);
        if (usual.status === 'FAILED') return usual;
        return { ...usual, added: { ...usual.added, name: row.Business!.toUpperCase() } };
      });
      expect(job.service.count('upload')).toBe(6);
    });
  });
});

describe('columns', () => {
  it('are learned from the first success, even if all chunks were given up before', async () => {
    const behaviour: Behaviour = { trouble: firstTimes('upload', 1, { kind: 'lose', share: 0 }) };
    const config = { ambiguous: { policy: 'hold' }, chunks: { maxRecords: 20 } };
    await withJob({ behaviour, config }, async (job) => {
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 3, columns: [], counts: { unprocessed: 60 } });
      for (const { chunk, id } of [...job.service.folios].sort((a, b) => b.chunk - a.chunk).slice(0, 2)) {
        await adopt(job.config(), { run: summary.run, chunk, folio: id });
      }
      const again = await collect(job.config());
      expect(again.columns).toEqual(['naics_code', 'naics_title', 'confidence']);
      await expectEnriched(job, (row, number) => {
        if (number > 20) return predictedEnrichment(row);
        const error = 'the upload may or may not have been accepted and was not sent again';
        return { status: 'UNPROCESSED', code: 'AMBIGUOUS_HELD', error, added: {} };
      });
      const [header] = parse(await job.output()) as string[][];
      expect(header).toContain('prediction_naics_code');
    });
  });
});
