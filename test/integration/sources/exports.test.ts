/** Exports as other programs write them: quotes as text, no header, lines before it. Run whole, and stopped. */
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import type { Failpoint } from '../../../pipelines/index.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';

const columns = ['id', 'Business', 'Address', 'State'];
const records = Array.from({ length: 60 }, (_, at) => [
  `${at}`,
  [`"The Best" Café ${at}`, `Joe's 5" Pipe ${at}`, `"${at}`, `Comma, Inc ${at}`][at % 4]!,
  `${at} Main St\\`,
  at % 3 === 0 ? '""' : 'MT',
]);
const lines = records.map((record) => record.join('\t'));
const title = 'Export "of\rthe night\r\n';
const fileOf = (from: number, to: number) => `${title}${lines.slice(from, to).join('\r\n')}\r\n`;
const reading = { path: 'part-*', delimiter: '\t', quote: 'none', header: columns, skipLines: 2 };
const setup = {
  behaviour,
  files: {
    'part-1.tsv': `\u{feff}${fileOf(0, 17)}`,
    'part-2.tsv.gz': gzipSync(fileOf(17, 43)),
    'part-3.tsv': fileOf(43, 60),
  },
  config: { source: reading },
};

/** Expects each record with its values and its own prediction. */
async function expectAll(job: Job): Promise<void> {
  const rows: Record<string, string>[] = parse(await job.output(), { columns: true });
  expect(rows.map((row) => columns.map((column) => row[column]))).toEqual(records);
  for (const row of rows) {
    const { status, error, added } = predictedEnrichment(row);
    expect(row).toMatchObject({ prediction_status: status, prediction_error: error });
    expect(row.prediction_naics_code).toBe(added.naics_code ?? '');
  }
}

describe('quotes as text, lines before the records, no header, three files', () => {
  let unbroken: Promise<string> | undefined;
  const unbrokenOutput = () => {
    unbroken ??= (async () => {
      let output = '';
      await withJob(setup, async (job) => {
        expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { read: 60, rejected: 0 } });
        await expectAll(job);
        output = await job.output();
        const manifest = (await job.manifest()) as unknown as { source: { dialect: object }[] };
        expect(manifest.source[1]).toMatchObject({ dialect: { quote: 'none', skippedBytes: title.length } });
      });
      return output;
    })();
    return unbroken;
  };

  it('are sent and published with the same values', async () => {
    expect(await unbrokenOutput()).toContain('\n2,"""2",2 Main St\\,MT,');
  });

  const moments: readonly (readonly [Failpoint, number])[] = [
    ['after-run-before-chunk', 1],
    ['after-cut-before-intent', 2],
    ['after-cut-before-intent', 5],
    ['after-intent-before-post', 3],
    ['after-accepted-before-poll', 4],
    ['after-part-file-before-commit', 3],
    ['after-work-write-before-commit', 2],
    ['after-merged-before-next', 1],
    ['after-merged-before-next', 4],
  ];
  it.concurrent.each(moments)('stopped at %s, time %i, go on', async (point, nth) => {
    await withJob(setup, async (job) => {
      await interrupt(job, stopAt(point, nth));
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 0, counts: { read: 60 } });
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(summary.uploads.accepted).toBe(6);
    });
  });

  it.each([
    ['source.quote', { quote: 'auto' }],
    ['source.header', { header: [...columns].reverse() }],
    ['source.skipLines', { skipLines: 1 }],
  ])('an unfinished run keeps %s', async (key, change) => {
    await withJob(setup, async (job) => {
      await interrupt(job, stopAt('after-accepted-before-poll', 2));
      expect(await job.failure({ source: change })).toMatchObject({
        code: 'CONFIG_FROZEN',
        facts: { keys: key },
        hint: expect.stringContaining('--new'),
      });
    });
  });

  it('a done run is not taken for a source that is read otherwise', async () => {
    await withJob(setup, async (job) => {
      await job.enrich();
      const changed = await job.failure({ source: { header: ['number', 'Business', 'Address', 'State'] } });
      expect(changed).toMatchObject({ code: 'RUN_DONE_OTHERWISE', facts: { keys: 'source.header' } });
    });
  });
});

describe('doubled and empty names', () => {
  const source = 'id,Business,,Address,State,note,note,\n1,Plain Ltd,x,1 Main St,MT,a,b,c\n';
  const files = { 'source.csv': source };

  it('that nobody uses stand in the output as in the source', async () => {
    await withJob({ files }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 0 });
      const [header, row] = (await job.output()).split('\n');
      expect(header).toMatch(/^id,Business,,Address,State,note,note,,prediction_status,/);
      expect(row).toMatch(/^1,Plain Ltd,x,1 Main St,MT,a,b,c,/);
    });
  });

  it('are numbered under rename, and may then be used', async () => {
    await withJob({ files, config: { source: { header: 'rename', key: ['note_2'] } } }, async (job) => {
      const columns = ['note_2', 'column_8', 'column_3', 'note'];
      expect(await job.enrich({ output: { columns, delta: true } })).toMatchObject({ exitCode: 0 });
      const [header, row] = (await job.output()).split('\n');
      expect(header).toMatch(/^note_2,column_8,column_3,note,prediction_status,/);
      expect(row).toMatch(/^b,c,x,a,/);
    });
  });

  it.each([
    ['upload.columns.name', { upload: { columns: { name: 'note' } } }],
    ['output.columns', { output: { columns: ['id', 'note'] } }],
    ['source.key', { source: { key: 'note' } }],
  ])('are an error where %s uses them', async (key, changes) => {
    await withJob({ files }, async (job) => {
      const error = await job.failure(changes);
      expect(error).toMatchObject({
        code: 'CONFIG_COLUMN_TWICE',
        exitCode: 2,
        message: `${key}: columns 6 and 7 of the source are both called "note"`,
        hint: expect.stringContaining('source.header: rename, which calls the second one "note_2"'),
      });
      expect(job.service.seen).toEqual([]);
    });
  });

  it('that are not used do not disturb a delta', async () => {
    await withJob({ files, config: { source: { key: ['id'] }, output: { delta: true } } }, async (job) => {
      await job.enrich();
      expect(await job.published()).toContain('enriched.csv.delta.csv');
    });
  });
});
