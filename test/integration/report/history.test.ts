/** The history: one night for each run, whatever is killed; and what the commands print of it. */
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Config, openCheckpointReader, recover } from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { predictedAnswer } from '../../fake-service/parts.js';
import { type Changes, withJob } from '../../helpers/jobs/fake-service-job.js';
import { readRaw, sourceText } from '../../helpers/jobs/sample-source.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { flipBit, journalFile, loseCheckpoint } from '../../helpers/state/killed-state.js';

const counted: Changes = {
  chunks: { maxRecords: 200 },
  result: { report: { code: 'naics_code', confidence: 'confidence' } },
  budget: { pricePerRecord: 0.01 },
};

async function nightsOf({ stateDir, pipeline }: Config) {
  const reader = (await openCheckpointReader(stateDir))!;
  return reader.nights(pipeline, 99).finally(() => reader.close());
}

describe('a night', () => {
  it('is what stands in the output, and is there once, wherever publishing was cut off', () =>
    withJob({ config: counted }, async (job) => {
      for (const point of ['after-publishing-before-rename', 'after-marker-before-done']) {
        const at = (name: string) => {
          if (name === point) throw new Error(`stopped at ${point}`);
        };
        expect(await job.failure({}, { at })).toMatchObject({ message: `stopped at ${point}` });
        expect(await nightsOf(job.config())).toEqual([]);
      }
      const { run } = await job.enrich();
      const [night, ...others] = await nightsOf(job.config());
      expect(others).toEqual([]);
      const { counts } = await job.manifest();
      const rows = readRaw(await job.output()).map(({ record }) => record);
      const good = rows.filter((row) => row.prediction_status === 'SUCCESSFUL');
      const mean = good.reduce((sum, row) => sum + Number(row.prediction_confidence), 0) / good.length;
      expect(night).toMatchObject({
        ...{ run, publication: 1, counts, paid: 60, amount: 0.6, drift: null, rehearsal: false },
        columns: ['naics_code', 'naics_title', 'confidence'],
        predictions: { coded: good.length, confidences: { mean: expect.closeTo(mean, 9), scale: 1 } },
      });
      expect(night!.reasons.reduce((sum, { records }) => sum + records, 0)).toBe(counts.failed);
      expect(night!.reasons[0]).toMatchObject({
        code: 'SERVICE_FAILED',
        reason: expect.stringMatching(/^nothing fits/),
      });
      // Published again, the run is the same night, which has taken no longer.
      const again = await job.enrich({ output: { prefix: 'p_' } });
      expect(again).toMatchObject({ run, found: 'done', publication: 2 });
      const [second] = await nightsOf(job.config());
      expect(second).toEqual({ ...night, publication: 2 });
    }));

  it('is rebuilt from the journal, also from one that was written again from the checkpoint', () =>
    withJob({ config: counted }, async (job) => {
      await job.enrich();
      await job.enrich({ output: { prefix: 'p_' } });
      const nights = await nightsOf(job.config());
      expect(nights.map(({ publication }) => publication)).toEqual([2, 1]);
      const recovered = async () => {
        await loseCheckpoint(job);
        await recover(job.config());
        return nightsOf(job.config());
      };
      expect(await recovered()).toEqual(nights);
      const journal = await journalFile(job);
      await flipBit(journal, (await stat(journal)).size - 10);
      expect((await recover(job.config())).runs).toMatchObject([{ found: 'renewed' }]);
      expect(await recovered()).toEqual(nights);
    }));

  it('unlike the nights before is told by the summary, by runs show and by the page', () =>
    withJob({ files: { 'source.csv': sourceText(1000) }, config: counted }, async (job) => {
      for (let nth = 0; nth < 5; nth++) {
        expect((await job.enrich({}, { fresh: true })).unusual).toEqual([]);
      }
      const answer: Behaviour['answer'] = (record, index) =>
        index % 2 === 0 ? { status: 'FAILED', added: { reason: 'too busy' } } : predictedAnswer(record);
      job.service.behaviour = { answer };
      const config = await job.writeConfig();
      const summary = await job.enrich({}, { fresh: true });
      expect(summary).toMatchObject({ exitCode: 0, unusual: [{ figure: 'failureRate', nights: 5 }] });
      const shown = await callMain(['runs', 'show', '-c', config]);
      expect(shown).toMatchObject({ code: 0, stderr: '' });
      expect(shown.stdout).toMatch(
        /unusual {3}\d+(\.\d)?% of the records failed, and \d+(\.\d)?% usually do\n/,
      );
      const json = await callMain(['runs', 'show', summary.run.slice(0, -2), config, '--json']);
      expect(jsonLines(json.stdout)[0]).toMatchObject({
        ...{ type: 'summary', exitCode: 0, isCompared: true },
        summary: { run: summary.run, unusual: [{ figure: 'failureRate' }] },
        timeline: { counted: 5 },
      });
      const page = path.join(job.folder, 'night.html');
      const made = await callMain(['report', config, '--output', page]);
      expect(made.stdout).toMatch(/^report on run .+: .+night\.html \(\d+(\.\d+)? KB\)\n$/);
      expect(await readFile(page, 'utf8')).toContain('usually do</li>');
      const refused = await callMain(['report', config, '--output', job.outputPath]);
      expect(refused).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('is not the name of an HTML file'),
      });
      const unknown = await callMain(['runs', 'show', 'zzz', config]);
      expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('[RUN_UNKNOWN]') });
    }));
});

it('a column that the service is known not to add is refused before anything is paid', () =>
  withJob({ config: counted }, async (job) => {
    const wrong = { result: { report: { code: 'NAICS_Code', confidence: null } } };
    expect(() => job.config({ result: { columns: ['naics_code'], ...wrong.result } })).toThrow(
      /result\.report\.code/,
    );
    await job.enrich();
    const asked = job.service.seen.length;
    const error = await job.failure(wrong, { fresh: true });
    expect(error).toMatchObject({ code: 'REPORT_COLUMN_UNKNOWN', exitCode: 2 });
    expect(job.service.seen.length).toBe(asked);
    expect((error as { hint: string }).hint).toContain('naics_code');
  }));
