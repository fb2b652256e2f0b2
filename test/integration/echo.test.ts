/** Services that give back what was sent otherwise than they got it: judged at the first chunk that is finished. */
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { adopt, collect, retry, submit } from '../../pipelines/index.js';
import { silentLogger } from '../../src/logger.js';
import type { Behaviour } from '../helpers/other-service-behaviour.js';
import {
  expectEnriched,
  expectSuccess,
  expectUntrusted,
  failingAmong,
  type Job,
  withJob,
} from '../helpers/other-service-job.js';
import { foreseenAnswer, type OtherResult } from '../helpers/other-service-parts.js';
import { foreseen, sourceText } from '../helpers/other-service-source.js';
import { firstTimes, givingBack, shuffled } from '../helpers/other-service-troubles.js';

const all = failingAmong(60);

/** Every result has the key that the next one was sent with. */
const shiftedKeys = (results: readonly OtherResult[]): OtherResult[] =>
  results.map((result, at) => ({
    ...result,
    sent: { ...result.sent, record_id: results[(at + 1) % results.length]!.sent.record_id! },
  }));

/** Sorted by name, and numbered in that order. */
const renumbered = (results: readonly OtherResult[]): OtherResult[] => {
  const first = Math.min(...results.map(({ sent }) => Number(sent.record_id)));
  const sorted = [...results].sort((a, b) => (a.sent.name! < b.sent.name! ? -1 : 1));
  return sorted.map((result, at) => ({ ...result, sent: { ...result.sent, record_id: String(first + at) } }));
};

const inColumn = (column: string) => (result: OtherResult) =>
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

/** What the service was asked for besides uploads and polls. */
const downloaded = (job: Job) =>
  new Set(job.service.seen.filter(({ operation }) => operation === 'download').map(({ chunk }) => chunk));

const refused: Readonly<Record<string, { code: string; behaviour: Behaviour; echo?: string[] }>> = {
  'gives back only the state, and reverses the rows': {
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
  'has keys that are shifted by a row': {
    code: 'ECHO_UNPROVEN',
    behaviour: { results: shiftedKeys },
    echo: [],
  },
  'gives back other names and addresses, and no number': {
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
      answer: (record) => ({ ...foreseenAnswer(record), added: {} }),
    },
  },
};

describe('a service that', () => {
  it.concurrent.each(Object.entries(refused))('%s is paid no more', async (_, { code, behaviour, echo }) => {
    const files = { 'source.csv': sourceText(300) };
    await withJob({ behaviour, files }, async (job) => {
      const error = await expectUntrusted(job, code);
      expect(error.message).toMatch(/^chunk \d+ \(folio /);
      const paid = job.service.count('upload');
      expect(paid).toBeLessThan(15);
      // What is open there is collected: it is paid for.
      expect(downloaded(job).size).toBe(paid);
      await expectUntrusted(job, code);
      expect(job.service.count('upload')).toBe(paid);
      if (echo === undefined) return;
      expect(error.hint).toContain(
        code === 'ECHO_UNPROVEN' ? 'result.echo does not mend this' : 'such as result.echo: [name]',
      );
      // Told that this is right, the run goes on, whatever its answers are worth.
      const warnings: string[] = [];
      const logger = { ...silentLogger, warn: (_: object, text: string) => void warnings.push(text) };
      const summary = await job.enrich({ result: { echo } }, { logger });
      const how = echo.length === 0 ? "by the record's number alone" : 'by equal values in order';
      const joinedOnWord = `result.echo: [${echo}] does not tell the records apart: results are joined ${how}, on your word`;
      expect(summary).toMatchObject({ state: 'done', exitCode: 0, joinedOnWord });
      expect(warnings.filter((text) => text === joinedOnWord)).toHaveLength(1);
      expect(await job.manifest()).toMatchObject({ joinedOnWord });
      expect(job.service.count('upload')).toBe(30);
    });
  });

  it('answers in a column that was sent has a prediction of that name', async () => {
    await withJob({ behaviour: { results: (some) => some.map(inColumn('state')) } }, async (job) => {
      const summary = await job.enrich();
      expect(summary.columns).toEqual(['state']);
      await expectSuccess(job, summary, all);
      await expectEnriched(job, (row) => {
        const { added, ...rest } = foreseen(row);
        return { ...rest, added: rest.status === 'FAILED' ? {} : { state: added.naics_code! } };
      });
    });
  });

  it.each([
    ['joined by the number', null],
    ['joined by what comes back', givingBack('name', 'address', 'state')],
  ])('changes capitals and blanks is taken, and that is told once: %s', async (_, columns) => {
    const behaviour = {
      ...changing('name', (text) => `  ${text.toUpperCase().replaceAll(' ', '  ')} `),
      ...(columns && { style: () => ({ columns }) }),
    };
    await withJob({ behaviour }, async (job) => {
      const told: string[] = [];
      const note = (_fields: object, text: string) => void told.push(text);
      const logger = { debug: () => undefined, info: () => undefined, warn: note, error: note };
      await expectSuccess(job, await job.enrich({}, { logger }), all);
      await expectEnriched(job);
      expect(told).toEqual([expect.stringMatching(/^name comes back with other capitals, blanks/)]);
    });
  });

  it('gives back the number alone is taken at its word', async () => {
    const style = () => ({ columns: givingBack('record_id') });
    await withJob({ behaviour: { results: shuffled, style } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job);
    });
  });

  it('gives the reason of a failure in a column that was sent', async () => {
    const results = (some: readonly OtherResult[]) =>
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
  const inThird = (change: (results: readonly OtherResult[]) => readonly OtherResult[]): Behaviour => ({
    results: (results, { chunk }) => (chunk === 3 ? change(results) : results),
    finishedAtPoll: ({ chunk }) => 2 * chunk,
  });

  it.each([
    ['whose keys are shifted', inThird(shiftedKeys), 'RESULTS_DO_NOT_MATCH'],
    [
      'one of whose echoes says something else',
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

  it('of a round is compared too', async () => {
    // All that fails fails once; the second time the keys are shifted.
    const seen = new Set<string>();
    const behaviour: Behaviour = {
      answer: (record) => {
        const honest = foreseenAnswer(record);
        return honest.status === 'FAILED' && seen.has(record.record_id!)
          ? { status: 'SUCCESSFUL', added: { naics_code: '1', naics_title: record.name!, confidence: '1' } }
          : honest;
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
        const honest = foreseen(row);
        if (honest.status === 'SUCCESSFUL') return honest;
        const added = { naics_code: '1', naics_title: row.Business!, confidence: '1' };
        return { status: 'SUCCESSFUL', code: '', error: '', added };
      });
    });
  });
});

describe('keys that are not those that were sent', () => {
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
  ])('%s, give way to what is declared to come back', async (_, behaviour) => {
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

it('answers of a round that nothing tells apart are not published', async () => {
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

describe('the judgement', () => {
  it('is that of collect where the run was submitted only', async () => {
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

  it('is made of the canary before the rest is paid for', async () => {
    const config = { chunks: { canary: 5 } };
    await withJob({ behaviour: { results: shiftedKeys }, config }, async (job) => {
      await expectUntrusted(job, 'ECHO_UNPROVEN');
      await expectUntrusted(job, 'ECHO_UNPROVEN');
      expect(job.service.count('upload')).toBe(1);
    });
  });

  it('waits for more where the first records are all the same', async () => {
    const lines = Array.from({ length: 40 }, (_, i) => (i < 10 ? 'Same,1 St,MT\n' : `n${i},${i} St,WY\n`));
    const files = { 'source.csv': `Business,Address,State\n${lines.join('')}` };
    const behaviour: Behaviour = { results: shiftedKeys, finishedAtPoll: ({ chunk }) => chunk };
    const config = { concurrency: { uploads: 1, folios: 1 } };
    await withJob({ behaviour, files, config }, async (job) => {
      await expectUntrusted(job, 'RESULTS_DO_NOT_MATCH');
      expect(job.service.count('upload')).toBeLessThanOrEqual(3);
    });
  });

  it('is overruled, and made again where that is taken back', async () => {
    await withJob({ behaviour: changing('state', () => 'XX') }, async (job) => {
      const wrong = await job.failure({ result: { echo: ['state'] } });
      expect(wrong).toMatchObject({ code: 'RESULTS_DO_NOT_MATCH' });
      const summary = await job.enrich();
      expect(summary.columns).toEqual(['state', 'naics_code', 'naics_title', 'confidence']);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it('is made anew, with the columns, under another result.echo', async () => {
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
        const honest = foreseen(row);
        if (honest.status === 'FAILED') return honest;
        return { ...honest, added: { ...honest.added, name: row.Business!.toUpperCase() } };
      });
      expect(job.service.count('upload')).toBe(6);
    });
  });
});

describe('columns', () => {
  it('are learned from the first success, when all chunks were given up before', async () => {
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
        if (number > 20) return foreseen(row);
        const error = 'the upload may or may not have been accepted and was not sent again';
        return { status: 'UNPROCESSED', code: 'AMBIGUOUS_HELD', error, added: {} };
      });
      const [header] = parse(await job.output()) as string[][];
      expect(header).toContain('prediction_naics_code');
    });
  });
});
