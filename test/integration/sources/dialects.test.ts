/** Sources of every dialect give the same values; rejected records are kept apart and counted. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { describe, expect, it } from 'vitest';
import { expectSuccess, failingAmong, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { predictedEnrichment, sourceText } from '../../helpers/jobs/sample-source.js';

describe('sources', () => {
  const text = sourceText(30);
  const firstHalf = text.slice(0, text.indexOf('\n00016,') + 1);
  const secondHalf = `${text.slice(0, text.indexOf('\n') + 1)}${text.slice(text.indexOf('\n00016,') + 1)}`;

  /** Expects the same values as from the plain source. */
  async function expectValues(job: Job): Promise<void> {
    const rows = parse(await job.output(), { columns: true }) as Record<string, string>[];
    const source = parse(text, { columns: true }) as Record<string, string>[];
    expect(rows.length).toBe(30);
    for (const [at, row] of rows.entries()) {
      const { status, error, added } = predictedEnrichment(source[at]!);
      expect(row).toMatchObject({ ...source[at], prediction_status: status, prediction_error: error });
      expect(row.prediction_naics_code).toBe(added.naics_code ?? '');
    }
  }

  /** The same text with another delimiter, CRLF, and quotes around every field. */
  const semicolons = (parse(text) as string[][])
    .map((row) => `${row.map((value) => `"${value.replaceAll('"', '""')}"`).join(';')}\r\n`)
    .join('');

  it.each([
    ['gzip', { 'source.csv': gzipSync(text) }, {}],
    ['UTF-16 with a BOM', { 'source.csv': iconv.encode(text, 'utf16le', { addBOM: true }) }, {}],
    ['UTF-8 with a BOM', { 'source.csv': `\ufeff${text}` }, {}],
    [
      'semicolons, CRLF, Latin-1',
      { 'source.csv': iconv.encode(semicolons, 'latin1') },
      { encoding: 'latin1' },
    ],
    [
      'a glob',
      { 'part-2.csv': secondHalf, 'part-1.csv': firstHalf, 'other.txt': '' },
      { path: 'part-*.csv' },
    ],
    [
      'a glob of mixed dialects',
      { 'part-1.csv.gz': gzipSync(firstHalf), 'part-2.csv': `\ufeff${secondHalf.replaceAll('\r', '')}` },
      { path: 'part-*' },
    ],
  ])('%s', async (_, files, source) => {
    await withJob({ files, config: { source } }, async (job) => {
      await expectSuccess(job, await job.enrich(), failingAmong(30));
      await expectValues(job);
    });
  });

  it('with bad records: they are left out, kept apart, and counted', async () => {
    const lines = text.split('\n00005,');
    const bad = `${lines[0]}\nbad,fields\n00005,${lines[1]!.replace('\n00029,', '\n00028b,x"y,,,\n00029,')}`;
    await withJob(
      { files: { 'source.csv': bad }, config: { source: { maxRejected: '100%' } } },
      async (job) => {
        const summary = await job.enrich();
        expect(summary).toMatchObject({ exitCode: 0, counts: { read: 32, rejected: 2, unprocessed: 0 } });
        await expectValues(job);
        const rejects = parse(await readFile(`${job.outputPath}.rejects.csv`, 'utf8'), { columns: true });
        expect(rejects).toMatchObject([
          { file: job.sourcePath, record: '5', code: 'SOURCE_FIELD_COUNT', raw: 'bad,fields' },
          { file: job.sourcePath, record: '30', code: 'SOURCE_QUOTE_MISPLACED' },
        ]);
        const keys = job.service.folios.flatMap(({ records }) =>
          records.map(({ record_id }) => Number(record_id)),
        );
        expect(keys.sort((a, b) => a - b)).toEqual(
          Array.from({ length: 32 }, (__, i) => i + 1).filter((number) => number !== 5 && number !== 30),
        );
        await writeFile(job.sourcePath, text);
        await job.enrich();
        expect(await job.published()).not.toContain(path.basename(`${job.outputPath}.rejects.csv`));
      },
    );
  });
});
