/** Rounds send failed records again: what is sent, which answer counts, and that rounds survive kills. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adopt, planRetry, planRun, publish, retry } from '../../../pipelines/index.js';
import {
  expectPredicted,
  expectSameWhenPublished,
  failedIn,
  failing,
  failingSetup,
  roundsOf,
  withLatestRun,
} from '../../helpers/jobs/failing-job.js';
import { failingName, fineNames, type LocalJob, withLocalJob } from '../../helpers/jobs/local-job.js';
import { killCliAt } from '../../helpers/processes/cli.js';

const twoRounds = { failures: { tolerate: '100%', rounds: 2 } };

describe('rounds of failed records', () => {
  it('send exactly the failed records, in chunks of the usual size, until they succeed', async () => {
    const lineage = { output: { lineage: true } };
    await withLocalJob(failingSetup([failing('50%', 3)], { ...twoRounds, ...lineage }), async (job) => {
      const first = failedIn(await outputOf(job, { rounds: 0 }));
      expect(first.length).toBeGreaterThan(8);
      await job.restartService([failing('50%', 3)]);
      const summary = await job.enrich({}, { fresh: true });
      expect(summary).toMatchObject({
        exitCode: 0,
        counts: { read: 30, successful: 30, failed: 0, unprocessed: 0 },
      });
      await expectPredicted(job);

      const [chunks, ...more] = await roundsOf(job);
      expect(more).toEqual([]);
      const sent = chunks!.flat();
      expect(sent).toEqual([...sent].sort((a, b) => a - b));
      expect(chunks!.slice(0, -1).every(({ length }) => length === 10)).toBe(true);
      expect(summary.uploads.accepted).toBe(3 + chunks!.length);
      const { spent, folios } = await withLatestRun(job, async (reader, run) => ({
        spent: (await reader.spending('nightly', run, '2026-11-21')).run,
        folios: await foliosOf(reader, run),
      }));
      expect(spent).toBe(30 + sent.length);
      for (const [at, row] of (await job.rows()).entries()) {
        const round = sent.includes(at + 1) ? 1 : 0;
        expect(folios[round], `record ${at + 1}`).toContain(row.prediction_folio);
        expect(row).toMatchObject({ prediction_part: '0', prediction_record: String(at + 1) });
      }
      const manifest = JSON.parse(await readFile(`${job.output}.manifest.json`, 'utf8'));
      expect(manifest.chunks).toHaveLength(3);
      expect(manifest.chunks.every(({ failed }: { failed: number }) => failed === 0)).toBe(true);
      expect(manifest.counts).toEqual(summary.counts);
    });
  });

  it('end when nothing fails any more, or after failures.rounds', async () => {
    const names = fineNames(30).map((name, at) => (at === 20 ? failingName(at) : name));
    const setup = { ...failingSetup([failing('50%', 3)], twoRounds), names };
    await withLocalJob(setup, async (job) => {
      const summary = await job.enrich();
      expect(summary.counts).toMatchObject({ successful: 29, failed: 1 });
      const rounds = await roundsOf(job);
      expect(rounds).toHaveLength(2);
      expect(rounds[1]).toEqual([[21]]);
      expect((await job.rows())[20]!.prediction_error).toBe('no industry matches the name');
      // A done run stays done, even if the config now has more rounds.
      const again = await job.enrich({ failures: { tolerate: '100%', rounds: 9 } });
      expect(again.found).toBe('done');
      expect(again.uploads).toEqual(summary.uploads);
      const named = await job.enrich(
        { failures: { tolerate: '100%', rounds: 9 } },
        { existing: summary.run },
      );
      expect(named).toMatchObject({ state: 'done', publication: 1, uploads: summary.uploads });
    });
  });

  it('joined by echoed columns find their records, even equal ones', async () => {
    const names = fineNames(30).map((name, at) => (at % 3 === 0 ? 'Fine 1' : name));
    const config = { ...twoRounds, upload: { keyColumn: null } };
    await withLocalJob({ ...failingSetup([failing('50%', 5)], config), names }, async (job) => {
      await job.enrich({ failures: { tolerate: '100%', rounds: 4 } });
      for (const [at, row] of (await job.rows()).entries()) {
        expect(row).toMatchObject({ Name: names[at], prediction_status: 'SUCCESSFUL' });
      }
      expect(await roundsOf(job)).not.toEqual([]);
      await expectSameWhenPublished(job);
    });
  });

  it('bring the result columns if nothing succeeded at first', async () => {
    await withLocalJob(failingSetup([failing('100%', 3)], twoRounds), async (job) => {
      const summary = await job.enrich();
      expect(summary.columns).toEqual(['naics_code', 'naics_title', 'confidence']);
      await expectPredicted(job);
      await expectSameWhenPublished(job);
    });
  });

  it('are written from the stored parts: publish gives the same bytes', async () => {
    const setup = failingSetup([failing('40%', 5)], twoRounds);
    await withLocalJob(setup, async (job) => {
      await job.enrich();
      await expectSameWhenPublished(job);
    });
  });

  it('work with several source files and rejected records between', async () => {
    const names = fineNames(30);
    await withLocalJob(failingSetup([failing('50%', 3)], twoRounds), async (job) => {
      const lines = names.map((name, at) => `"${name}",${at + 1} Main St,note\n`);
      lines.splice(17, 0, 'not,a,record,at,all\n');
      const head = 'Name,Address,Note\n';
      await writeFile(join(job.folder, 'part-1.csv'), head + lines.slice(0, 12).join(''));
      await writeFile(join(job.folder, 'part-2.csv'), head + lines.slice(12).join(''));
      const source = { source: { path: 'part-*.csv', maxRejected: '100%' } };
      const summary = await job.enrich(source);
      expect(summary.counts).toEqual({ read: 31, successful: 30, failed: 0, unprocessed: 0, rejected: 1 });
      expect((await job.rows()).map(({ Name }) => Name)).toEqual(names);
      expect((await roundsOf(job)).flat(2).length).toBeGreaterThan(8);
    });
  });

  it('halve a chunk that is too large; a record that is refused keeps its older answer', async () => {
    const names = fineNames(30).map((name, at) => (at === 4 ? 'Very Bad, Inc' : name));
    const rules = [
      failing('100%', 1),
      { on: 'upload', calls: { from: 4 }, contains: 'Very Bad', fault: { status: 422 } },
      { on: 'upload', calls: { from: 4 }, records: { from: 7 }, fault: { status: 413 } },
    ];
    await withLocalJob({ ...failingSetup(rules), names }, async (job) => {
      const summary = await job.enrich({ failures: { tolerate: '100%', rounds: 1 } });
      expect(summary.counts).toMatchObject({ successful: 29, failed: 1 });
      const row = (await job.rows())[4]!;
      expect(row).toMatchObject({ prediction_status: 'FAILED', prediction_error_code: 'SERVICE_FAILED' });
      const { tally, run } = await job.kept();
      expect(run.round).toBe(1);
      expect(tally.chunks).toMatchObject({ refused: 1 });
      expect(tally.chunks.split).toBe(3);
      expect((await roundsOf(job)).flat(2)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
      await expectSameWhenPublished(job);
    });
  });
});

describe('a round', () => {
  it('with a lost or held chunk settles without it, and its records keep their answers', async () => {
    const rules = [failing('50%', 3), { on: 'track', folio: 4, fault: { forget: true } }];
    const config = { failures: { tolerate: '100%', rounds: 1 } };
    await withLocalJob(failingSetup(rules, config), async (job) => {
      const summary = await job.enrich();
      const [lost, ...others] = (await roundsOf(job))[0]!;
      await expectPredicted(job, lost);
      expect(summary.counts).toMatchObject({ failed: lost!.length, unprocessed: 0 });
      expect(others.length).toBeGreaterThan(0);
      await expectSameWhenPublished(job);
    });
  });

  it('whose held chunk is adopted later counts from then on, and the run is published again', async () => {
    const rules = [failing('50%', 3), { on: 'upload', calls: 4, fault: { cut: 'after-accepting' } }];
    const config = { failures: { tolerate: '100%', rounds: 1 }, ambiguous: { policy: 'hold' } };
    await withLocalJob(failingSetup(rules, config), async (job) => {
      const { run, adoptable } = await job.enrich();
      const [held] = (await roundsOf(job))[0]!;
      await expectPredicted(job, held);
      const { fileName, chunk } = adoptable[0]!;
      const { folio } = (await job.served()).find((served) => served.fileName === fileName)!;
      await adopt(job.config(), { run, chunk, folio });
      const summary = await job.enrich();
      expect(summary).toMatchObject({ run, state: 'done', counts: { successful: 30 } });
      await expectPredicted(job);
    });
  });

  it('leaves out what an earlier one may have sent, and so does a retry, until the config allows it', async () => {
    const rules = [failing('50%', 3), { on: 'upload', calls: 4, fault: { cut: 'after-accepting' } }];
    const config = { ...twoRounds, ambiguous: { policy: 'hold' } };
    await withLocalJob(failingSetup(rules, config), async (job) => {
      const { run } = await job.enrich();
      const [first, ...later] = await roundsOf(job);
      const [held, ...others] = first!;
      expect(later).toEqual([]);
      await expectPredicted(job, held);
      expect(await planRetry(job.config(), run)).toMatchObject({ records: 0, held: held!.length });
      await retry(job.config(), run);
      expect(await job.served()).toHaveLength(3 + 1 + others.length);
      const allowed = job.config({ ambiguous: { policy: 'resubmit' } });
      expect(await planRetry(allowed, run)).toMatchObject({ records: held!.length, held: 0 });
      await job.restartService([]);
      await retry(allowed, run);
      expect((await roundsOf(job))[1]).toEqual([held]);
      await expectPredicted(job);
    });
  });

  it('that cannot be sent leaves the run resumable, and goes on whatever failures.rounds is by then', async () => {
    const rules = [failing('50%', 3), { on: 'upload', calls: { from: 5 }, fault: { status: 503 } }];
    const config = { failures: { tolerate: '100%', rounds: 1 }, retry: { giveUpAfter: '150ms' } };
    await withLocalJob(failingSetup(rules, config), async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 5, code: 'SERVICE_UNAVAILABLE' });
      const { run } = await job.kept();
      expect(run).toMatchObject({ state: 'open', round: 0 });
      await expect(job.rows()).rejects.toMatchObject({ code: 'ENOENT' });
      await expect(publish(job.config(), run.id)).rejects.toMatchObject({ code: 'ROUND_UNFINISHED' });
      const { next } = await planRun(job.config(), { signal: new AbortController().signal });
      const [round] = await roundsOf(job);
      // Only the first file of the round is accepted.
      const records = round!.slice(1).flat().length;
      expect(next).toMatchObject({ kind: 'continue', chunks: round!.length - 1, records });
      await job.restartService([]);
      await job.enrich({ failures: { tolerate: '100%', rounds: 0 } });
      await expectPredicted(job);
      const sent = (await roundsOf(job)).flat(2);
      expect(new Set(sent).size).toBe(sent.length);
      expect((await job.served()).length).toBe(3 + (await roundsOf(job))[0]!.length);
    });
  });

  it('counts in the budget, which stops it before a cap is exceeded', async () => {
    const config = { failures: { tolerate: '100%', rounds: 1 }, budget: { perRun: 40 } };
    await withLocalJob(failingSetup([failing('50%', 3)], config), async (job) => {
      expect(await job.failure()).toMatchObject({ exitCode: 9, code: 'BUDGET_REACHED' });
      const spent = await withLatestRun(job, (reader, run) => reader.spending('nightly', run, '2026-11-21'));
      expect(spent.run).toBe(40);
      await job.enrich({ budget: { perRun: 200 } });
      await expectPredicted(job);
    });
  });
});

describe('a job with rounds that is killed', () => {
  // Record 21 fails in every round; the others only in the three uploads of the first pass.
  const names = fineNames(30).map((name, at) => (at === 20 ? failingName(at) : name));
  const setup = { ...failingSetup([failing('50%', 3)], twoRounds), names };
  let unbroken: Promise<Buffer> | undefined;
  const runUnbroken = async () => {
    let output = Buffer.alloc(0);
    await withLocalJob(setup, async (job) => {
      await job.enrich();
      output = await readFile(job.output);
    });
    return output;
  };

  it.each([
    ['after-cut-before-chunk-file:5', 0],
    ['after-intent-before-post:5', 1],
    ['after-round-answered-before-settled', 0],
    ['after-settled-before-merge', 0],
  ] as const)('at %s ends like an uninterrupted one', async (armed, ambiguous) => {
    unbroken ??= runUnbroken();
    await withLocalJob(setup, async (job) => {
      await killCliAt(armed, ['run', job.file]);
      expect(await job.enrich()).toMatchObject({ found: 'continued', exitCode: 0 });
      expect(await readFile(job.output, 'utf8')).toBe((await unbroken!).toString());
      const { run, tally } = await job.kept();
      expect(run.round).toBe(2);
      expect(tally.uploads.ambiguous).toBe(ambiguous);
      const files = await readdir(join(job.folder, 'state', 'runs', run.id));
      expect(files.filter((name) => name.startsWith('chunk-'))).toEqual([]);
    });
  });
});

async function outputOf(job: LocalJob, failures: object): Promise<Buffer> {
  await job.enrich({ failures: { tolerate: '100%', ...failures } });
  return readFile(job.output);
}

/** Folios by round. */
async function foliosOf(
  reader: Parameters<Parameters<typeof withLatestRun>[1]>[0],
  run: string,
): Promise<(string | null)[][]> {
  const found: (string | null)[][] = [];
  for (let round = 0; round <= 1; round++) {
    const folios: (string | null)[] = [];
    let chunk = await reader.nextChunk(run, round, 0);
    for (; chunk !== undefined; chunk = await reader.nextChunk(run, round, chunk.lastRecord)) {
      folios.push(chunk.folio);
    }
    found.push(folios);
  }
  return found;
}
