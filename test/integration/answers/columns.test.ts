/** The columns that are sent, the columns that are echoed, and the columns of the output. */
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type Answer, predictedAnswer, type SentRecord } from '../../fake-service/parts.js';
import { givingBack, shuffled } from '../../fake-service/troubles.js';
import { expectEnriched, expectSuccess, failingAmong, withJob } from '../../helpers/jobs/fake-service-job.js';
import {
  enrichmentOf,
  predictedEnrichment,
  sentOf,
  sourceColumns,
  sourceText,
} from '../../helpers/jobs/sample-source.js';

const all = failingAmong(60);

describe('sent and echoed columns', () => {
  it.each([
    ['all of them', givingBack('name', 'address', 'state')],
    ['two of them', givingBack('name', 'state')],
  ])('joins by the sent columns, %s, if the key is not echoed', async (_, columns) => {
    await withJob({ behaviour: { results: shuffled, style: () => ({ columns }) } }, async (job) => {
      const summary = await job.enrich();
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(summary.indistinct).toBe(0);
    });
  });

  it('sends no key if keyColumn is off', async () => {
    await withJob(
      { behaviour: { results: shuffled }, config: { upload: { keyColumn: null } } },
      async (job) => {
        await expectSuccess(job, await job.enrich(), all);
        await expectEnriched(job);
        expect(Object.keys(job.service.folios[0]!.records[0]!)).toEqual(['name', 'address', 'state']);
      },
    );
  });

  it('counts equal tuples with different results, and assigns those in order', async () => {
    const answer = (record: SentRecord, index: number): Answer => {
      const usual = predictedAnswer(record);
      return record.name === 'Twin & Sons'
        ? { ...usual, added: { ...usual.added, confidence: `0.${index}` } }
        : usual;
    };
    const setup = {
      behaviour: { answer },
      config: { upload: { keyColumn: null }, chunks: { maxRecords: 30 } },
    };
    await withJob(setup, async (job) => {
      // Three of thirty are too many to accept, unless the config says so.
      expect(await job.failure()).toMatchObject({ code: 'RESULTS_INDISTINCT', exitCode: 6 });
      const summary = await job.enrich({ result: { echo: ['name', 'address', 'state'] } });
      expect(summary.indistinct).toBe(6);
      expect(await job.manifest()).toMatchObject({ indistinct: 6 });
      await expectEnriched(job, (row, number) => enrichmentOf(answer(sentOf(row), (number - 1) % 30)));
    });
  });

  it('sends every record once, with its number and the configured columns', async () => {
    await withJob({}, async (job) => {
      const summary = await job.enrich();
      const sent = job.service.folios.flatMap(({ records }) => records);
      const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
      expect(sent.sort((a, b) => Number(a.record_id) - Number(b.record_id))).toEqual(
        source.map((row, at) => ({ record_id: String(at + 1), ...sentOf(row) })),
      );
      expect(new Set(job.service.seen.map(({ token }) => token))).toEqual(new Set([job.service.token]));
      for (const { fileName, description, chunk } of job.service.folios) {
        expect(fileName).toMatch(new RegExp(`^hostile-${summary.run}-${chunk}-1-[0-9a-f]{8}\\.csv$`));
        expect(description).toBe(`hostile ${summary.run} ${chunk} ${fileName.slice(-12, -4)}`);
      }
    });
  });

  it('sends the token of GET requests in a header if configured', async () => {
    await withJob({ config: { service: { tokenIn: 'header' } } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      expect(new Set(job.service.seen.map(({ token }) => token))).toEqual(new Set([job.service.token]));
    });
  });
});

describe('columns of the output', () => {
  it('include lineage if configured', async () => {
    await withJob({ behaviour: { partRecords: 4 }, config: { output: { lineage: true } } }, async (job) => {
      const { run } = await job.enrich();
      const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
      const folioOf = new Map(job.service.folios.map(({ chunk, id }) => [chunk, id]));
      for (const [at, row] of rows.entries()) {
        expect(row).toMatchObject({
          prediction_run: run,
          prediction_folio: folioOf.get(Math.floor(at / 10) + 1),
          prediction_record: String(at + 1),
        });
        expect(row.prediction_part).toMatch(row.prediction_status === 'FAILED' ? /^0$/ : /^[012]$/);
      }
      expect(Object.keys(rows[0]!).slice(-5)).toEqual([
        'prediction_run',
        'prediction_folio',
        'prediction_part',
        'prediction_record',
        'prediction_answered_at',
      ]);
    });
  });

  it('include only the chosen source columns, in the chosen order', async () => {
    await withJob({ config: { output: { columns: ['State', 'id'], prefix: 'p_' } } }, async (job) => {
      await job.enrich();
      const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
      const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
      expect(Object.keys(rows[0]!)).toEqual([
        ...['State', 'id', 'p_status', 'p_error_code', 'p_error'],
        ...['p_naics_code', 'p_naics_title', 'p_confidence'],
      ]);
      expect(rows.map(({ State, id }) => ({ State, id }))).toEqual(
        source.map(({ State, id }) => ({ State, id })),
      );
    });
  });

  it('keep the order of declared result columns, whatever order the service uses', async () => {
    const columns = ['confidence', 'naics_code', 'naics_title'];
    await withJob({ behaviour: { results: shuffled }, config: { result: { columns } } }, async (job) => {
      expect((await job.enrich()).columns).toEqual(columns);
      await expectEnriched(job);
      expect((await job.manifest()).columns).toEqual([
        ...sourceColumns,
        ...['prediction_status', 'prediction_error_code', 'prediction_error'],
        ...columns.map((column) => `prediction_${column}`),
      ]);
    });
  });

  it('ignore columns that appear later, and leave missing ones empty, if configured', async () => {
    const columns = (names: readonly string[]) => names.filter((name) => name !== 'confidence');
    const behaviour: Behaviour = {
      answer: (record) => {
        const { status, added } = predictedAnswer(record);
        const isLate = Number(record.record_id) > 30 && status === 'SUCCESSFUL';
        return { status, added: isLate ? { ...added, surprise: 'boo' } : added };
      },
      style: ({ chunk }) => (chunk === 6 ? { columns } : {}),
      finishedAtPoll: ({ chunk }) => chunk,
    };
    await withJob({ behaviour, config: { result: { onChange: 'ignore' } } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      await expectEnriched(job, (row, number) => {
        const { added, ...rest } = predictedEnrichment(row);
        const isCut = number > 50 && rest.status === 'SUCCESSFUL';
        return { ...rest, added: isCut ? { ...added, confidence: '' } : added };
      });
    });
  });
});

describe('columns of the service that are named like columns of foliopipe', () => {
  const taken = ['status', 'error_code', 'error', 'record', 'service_status'];
  const withTaken = (record: SentRecord): Answer => {
    const { status, added } = predictedAnswer(record);
    if (status === 'FAILED') return { status, added };
    return { status, added: { ...added, ...Object.fromEntries(taken.map((name) => [name, `its ${name}`])) } };
  };

  it.each([false, true])('are renamed and keep their values (lineage: %s)', async (lineage) => {
    await withJob({ behaviour: { answer: withTaken }, config: { output: { lineage } } }, async (job) => {
      const { run } = await job.enrich();
      const [header, ...rows] = parse(await job.output()) as string[][];
      expect(new Set(header).size).toBe(header!.length);
      expect((await job.manifest()).columns).toEqual(header);
      const own = lineage ? ['run', 'folio', 'part', 'record', 'answered_at'] : [];
      const record = lineage ? 'service_record' : 'record';
      expect(header!.slice(sourceColumns.length).map((name) => name.replace('prediction_', ''))).toEqual([
        ...['status', 'error_code', 'error', 'naics_code', 'naics_title', 'confidence'],
        ...[
          'service_service_status',
          'service_error_code',
          'service_error',
          record,
          'service_status',
          ...own,
        ],
      ]);
      const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
      for (const [at, row] of rows.entries()) {
        const { status, code, error, added } = predictedEnrichment(source[at]!);
        const its = taken.map((name) => (status === 'FAILED' ? '' : `its ${name}`));
        const { naics_code = '', naics_title = '', confidence = '' } = added;
        const answer = [status, code, error, naics_code, naics_title, confidence, ...its];
        expect(row.slice(sourceColumns.length, sourceColumns.length + answer.length)).toEqual(answer);
        if (lineage) expect([row.at(-5), row.at(-2)]).toEqual([run, String(at + 1)]);
      }
    });
  });
});

describe('a failed part with the columns of a successful one', () => {
  /** Both kinds of part have `code` and `error`; a failure fills `error`, a success `code`. */
  const sameLayout = (record: SentRecord): Answer => {
    const { status, added } = predictedAnswer(record);
    const code = added.naics_code ?? '';
    return { status, added: { code, error: added.reason ?? '' } };
  };

  it.each([
    ['from the first chunk on', () => 1],
    ['even if its columns are learned last', ({ chunk }: { chunk: number }) => 7 - chunk],
  ])('gives its reason as the error, %s', async (_, finishedAtPoll) => {
    await withJob({ behaviour: { answer: sameLayout, finishedAtPoll } }, async (job) => {
      await expectSuccess(job, await job.enrich(), all);
      const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
      const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];
      for (const [at, row] of rows.entries()) {
        const { status, error, added } = predictedEnrichment(source[at]!);
        expect(row).toMatchObject({
          prediction_status: status,
          prediction_error: status === 'FAILED' ? `error: ${error}` : '',
          prediction_code: added.naics_code ?? '',
          prediction_service_error: '',
        });
      }
    });
  });
});
