/** A refused file is halved until each refused record is alone; all other records are bought once. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RefusedError } from '../../../pipelines/index.js';
import { fineNames, type LocalJob, predictedCode, withLocalJob } from '../../helpers/jobs/local-job.js';
import { killCliAt } from '../../helpers/processes/cli.js';

/** Refuses a file that contains a bad record. */
const refusing = (status: number) => ({ on: 'upload', contains: 'Very Bad', fault: { status } });
const one = { uploads: 1, folios: 4, downloads: 2 };

/** Good names, except that the service refuses these record numbers. */
function spoilt(count: number, ...numbers: readonly number[]): string[] {
  return fineNames(count).map((name, at) => (numbers.includes(at + 1) ? `Very Bad, Inc ${at + 1}` : name));
}

/** Expects every record predicted and paid once, or refused and never paid. */
async function expectAnswers(job: LocalJob, names: readonly string[], refused: readonly number[]) {
  const rows = await job.rows();
  expect(rows.map(({ Name }) => Name)).toEqual(names);
  for (const [at, row] of rows.entries()) {
    const answer = refused.includes(at + 1)
      ? { prediction_status: 'FAILED', prediction_error_code: 'RECORD_REFUSED', prediction_naics_code: '' }
      : { prediction_status: 'SUCCESSFUL', prediction_naics_code: predictedCode(row.Name!) };
    expect(row, `record ${at + 1}`).toMatchObject(answer);
  }
  const paid = await job.timesPaid();
  for (let record = 1; record <= names.length; record++) {
    expect(paid.get(record) ?? 0, `record ${record}`).toBe(refused.includes(record) ? 0 : 1);
  }
  const { run } = await job.kept();
  const left = await readdir(join(job.folder, 'state', 'runs', run.id));
  expect(left.filter((name) => name.startsWith('chunk-'))).toEqual([]);
}

describe('a file that is too large for the service', () => {
  it('is halved as often as needed, whatever failures.maxSplits is', async () => {
    const names = fineNames(17);
    const rules = [{ on: 'upload', records: { from: 4 }, fault: { status: 413 } }];
    await withLocalJob({ names, rules, config: { failures: { tolerate: 0, maxSplits: 0 } } }, async (job) => {
      const summary = await job.enrich();
      expect(summary).toMatchObject({ exitCode: 0, uploads: { accepted: 7, ambiguous: 0 } });
      await expectAnswers(job, names, []);
      const { run, tally } = await job.kept();
      // 10 = (3 + 2) + (3 + 2) and 7 = (2 + 2) + 3.
      expect(tally.chunks).toMatchObject({ split: 5, downloaded: 7 });
      expect(run.chunks).toBe(7);
    });
  });

  it('even with one record stops the run after one record was reached', async () => {
    const rules = [{ on: 'upload', fault: { status: 413 } }];
    await withLocalJob({ names: fineNames(20), rules, config: { concurrency: one } }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({
        exitCode: 7,
        code: 'FILE_TOO_LARGE',
        facts: { firstRecord: 1, lastRecord: 1 },
      });
      expect((await job.kept()).tally.chunks).toMatchObject({ split: 4, refused: 0 });

      await job.restartService([]);
      await job.enrich();
      await expectAnswers(job, fineNames(20), []);
    });
  });
});

describe('a file that the service refuses', () => {
  it.each([400, 422])(
    'with %i is halved until its bad records are alone, and those are FAILED',
    async (status) => {
      const bad = [12, 13, 20];
      const names = spoilt(20, ...bad);
      const config = { output: { lineage: true } };
      await withLocalJob({ names, rules: [refusing(status)], config }, async (job) => {
        const summary = await job.enrich();
        expect(summary).toMatchObject({ counts: { read: 20, successful: 17, failed: 3, unprocessed: 0 } });
        await expectAnswers(job, names, bad);
        const row = (await job.rows())[11]!;
        expect(row.prediction_error).toBe(`a fault: the service answers ${status}`);
        expect(row).toMatchObject({ prediction_folio: '', prediction_part: '', prediction_record: '12' });

        const manifest = JSON.parse(await readFile(`${job.output}.manifest.json`, 'utf8'));
        const chunks = manifest.chunks as {
          firstRecord: number;
          lastRecord: number;
          failed: number;
          refusal: string;
        }[];
        expect(chunks[0]).toMatchObject({ firstRecord: 1, lastRecord: 10, refusal: null });
        for (const [at, chunk] of chunks.slice(1).entries()) {
          expect(chunk.firstRecord).toBe(chunks[at]!.lastRecord + 1);
        }
        expect(chunks.at(-1)).toMatchObject({ firstRecord: 20, failed: 1, refusal: row.prediction_error });
        expect(chunks.reduce((sum, { failed }) => sum + failed, 0)).toBe(3);
      });
    },
  );

  it('waits for the first upload in flight, which may prove that the service accepts others', async () => {
    const names = spoilt(20, 15);
    const rules = [{ on: 'upload', calls: 1, fault: { stall: '300ms' } }, refusing(422)];
    await withLocalJob({ names, rules }, async (job) => {
      await job.enrich();
      await expectAnswers(job, names, [15]);
    });
  });

  it('stops the run if nothing was accepted yet, and no record is blamed', async () => {
    const names = fineNames(20);
    const rules = [{ on: 'upload', fault: { status: 422 } }];
    await withLocalJob({ names, rules }, async (job) => {
      const error = await job.failure();
      expect(error).toBeInstanceOf(RefusedError);
      expect(error).toMatchObject({
        exitCode: 7,
        message: expect.stringMatching(
          /^chunk [12] \(10 records, \d+ to \d+\): upload: the service refuses: HTTP 422/,
        ),
        hint: expect.stringMatching(/nothing of this run was accepted so far.*foliopipe run --new, which/),
      });
      expect((await job.kept()).tally.chunks).toMatchObject({ split: 0, refused: 0 });
      await job.restartService([]);
      await job.enrich();
      await expectAnswers(job, names, []);
    });
  });

  it('does not say that --new gives up nothing if an upload may have been accepted', async () => {
    const rules = [
      { on: 'upload', calls: 1, fault: { cut: 'after-accepting' } },
      { on: 'upload', fault: { status: 422 } },
    ];
    await withLocalJob({ names: fineNames(20), rules }, async (job) => {
      expect(await job.failure()).toMatchObject({
        exitCode: 7,
        hint: expect.stringMatching(
          /nothing of this run is known to be accepted.*run --new, which says what it would give up;/,
        ),
      });
    });
  });

  it('with a single record does not blame it if nothing was accepted yet', async () => {
    await withLocalJob({ names: spoilt(1, 1), rules: [refusing(422)] }, async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 7, code: 'SERVICE_REFUSED' });
      expect((await job.kept()).tally.chunks).toMatchObject({ cut: 1, refused: 0 });
    });
  });

  it('is searched before anything was accepted in a run that reuses answers', async () => {
    const config = { reuse: { maxAge: '90d' }, concurrency: one };
    await withLocalJob({ names: spoilt(30, 25), rules: [refusing(422)], config }, async (job) => {
      expect(await job.enrich()).toMatchObject({ exitCode: 0, counts: { successful: 29, failed: 1 } });
      const source = await readFile(job.source, 'utf8');
      await writeFile(job.source, `${source}New One,1 Main St,\nNew Two,1 Main St,\n`);
      const second = await job.enrich();
      expect(second).toMatchObject({ exitCode: 0, counts: { successful: 31, failed: 1 } });
      expect(second.origins.sent).toMatchObject({ records: 3, successful: 2, failed: 1 });
      // The refused record is the only one that is sent.
      const third = await job.enrich({}, { fresh: true });
      expect(third).toMatchObject({ exitCode: 0, uploads: { accepted: 0 }, counts: { failed: 1 } });
      expect(third.origins.sent).toMatchObject({ records: 1, failed: 1 });
    });
  });

  it('stops the run at failures.maxSplits; with a higher value the run goes on', async () => {
    const bad = [12, 25];
    const names = spoilt(26, ...bad);
    const config = { concurrency: one, failures: { tolerate: '100%', maxSplits: 4 } };
    await withLocalJob({ names, rules: [refusing(422)], config }, async (job) => {
      const hint = expect.stringContaining('failures.maxSplits');
      expect(await job.failure()).toMatchObject({ exitCode: 7, hint });
      expect((await job.kept()).tally.chunks.split).toBe(4);
      await job.enrich({ failures: { tolerate: '100%', maxSplits: 8 } });
      await expectAnswers(job, names, bad);
    });
  });

  it('after its first reply was lost is halved, too, and stays reported as ambiguous', async () => {
    const names = fineNames(40);
    const rules = [
      { on: 'upload', calls: 2, fault: { cut: 'after-accepting' } },
      { on: 'upload', calls: 5, fault: { status: 422 } },
    ];
    await withLocalJob({ names, rules, config: { concurrency: one } }, async (job) => {
      const summary = await job.enrich();
      expect(summary).toMatchObject({
        exitCode: 0,
        counts: { successful: 40 },
        uploads: { accepted: 5, ambiguous: 1 },
        ambiguousRecords: 10,
      });
      const paid = await job.timesPaid();
      for (let record = 1; record <= 40; record++) {
        expect(paid.get(record)).toBe(record > 10 && record <= 20 ? 2 : 1);
      }
    });
  });

  it('is halved in the same way if results are joined by echoed columns', async () => {
    const names = spoilt(24, 13).map((name, at) => (at % 5 === 4 ? 'Fine Twins' : name));
    const config = { upload: { keyColumn: null, columns: { name: 'Name' } } };
    await withLocalJob({ names, rules: [refusing(422)], config }, async (job) => {
      await job.enrich();
      await expectAnswers(job, names, [13]);
    });
  });
});

describe('a process that is killed', () => {
  const bad = [14, 19, 20];
  const names = spoilt(20, ...bad);

  it.concurrent.each(['after-split-before-upload:1', 'after-split-before-upload:4'])(
    '%s goes on halving and pays for nothing twice',
    async (point) => {
      await withLocalJob({ names, rules: [refusing(422)], config: { concurrency: one } }, async (job) => {
        await killCliAt(point, ['run', job.file]);
        expect(await job.enrich()).toMatchObject({ found: 'continued', state: 'done' });
        await expectAnswers(job, names, bad);
        expect((await job.kept()).tally.uploads.ambiguous).toBe(0);
      });
    },
  );

  it.concurrent('between the intent and the refusal sends the chunk once more, then halves it', async () => {
    await withLocalJob({ names, rules: [refusing(422)], config: { concurrency: one } }, async (job) => {
      await killCliAt('after-intent-before-post:2', ['run', job.file]);
      expect(await job.enrich()).toMatchObject({ found: 'continued', state: 'done' });
      await expectAnswers(job, names, bad);
      expect((await job.kept()).tally.uploads).toMatchObject({ ambiguous: 1 });
    });
  });
});
