/** Retention removes old results; their cost and their publications stay known. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openCheckpointReader, prune, publish, type RunSummary } from '../../../pipelines/index.js';
import { readLedger } from '../../../src/report/ledger.js';
import { systemClock } from '../../../src/streams/clock.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, interrupt, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { fineNames, withLocalJob } from '../../helpers/jobs/local-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { callMain } from '../../helpers/processes/call-main.js';

const day = 24 * 60 * 60 * 1000;

describe('the results of a run that ended long ago', () => {
  it('are removed when a later run ends; the ledger keeps their cost', async () => {
    await withJob({ behaviour }, async (job) => {
      const first = await job.enrich();
      await writeFile(job.sourcePath, sourceText(50));
      const second = await job.enrich({}, { clock: daysLater(31) });
      expect(await holders(job)).toEqual([second.run]);
      expect(await sentRecords(job)).toBe(110);
      await expect(publish(job.config(), first.run)).rejects.toMatchObject({
        exitCode: 9,
        code: 'RUN_PRUNED',
      });
      // The run is still known as done: its source is not paid again, but its output cannot be written, either.
      await writeFile(job.sourcePath, sourceText(60));
      const asked = job.service.seen.length;
      expect(await job.failure()).toMatchObject({
        exitCode: 9,
        code: 'RUN_PRUNED',
        message: expect.stringContaining(`publication 2 (run ${second.run}) stood in its place`),
        facts: { run: first.run },
      });
      expect(job.service.seen.length).toBe(asked);
    });
  });

  it('stay for retention.results', async () => {
    await withJob({ behaviour }, async (job) => {
      const runs = [await job.enrich()];
      await writeFile(job.sourcePath, sourceText(50));
      runs.push(await job.enrich({}, { clock: daysLater(29) }));
      expect(await foldersOf(job)).toEqual(ids(runs));
    });
  });
});

describe('prune', () => {
  it('only reports what it would remove if asked to', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const preview = await prune(job.config(), {
        olderThan: 0,
        dryRun: true,
        clock: daysLater(1),
      });
      expect(await foldersOf(job)).toEqual([run]);
      const removed = await prune(job.config(), { olderThan: 0, clock: daysLater(1) });
      expect(removed).toEqual(preview);
      expect(removed.runs).toMatchObject([{ run, state: 'done' }]);
      expect(removed.runs[0]!.bytes).toBeGreaterThan(0);
      expect(await holders(job)).toEqual([]);
      expect((await prune(job.config(), { olderThan: 0, clock: daysLater(1) })).runs).toEqual([]);
    });
  });

  it('removes what a kill left of a pruned run, and half-written outputs', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      await prune(job.config(), { olderThan: 0, clock: daysLater(1) });
      const folder = path.join(job.config().stateDir, 'runs', run);
      await mkdir(folder, { recursive: true });
      await writeFile(path.join(folder, 'part-000001-successful-0.csv.gz'), 'left');
      await writeFile(`${job.outputPath}.${run}.partial`, 'left');
      await prune(job.config(), { olderThan: 0, clock: daysLater(1) });
      expect(await holders(job)).toEqual([]);
      expect(await job.published()).not.toContain(`enriched.csv.${run}.partial`);
      expect((await readFile(job.outputPath)).length).toBeGreaterThan(0);
    });
  });

  it('never touches an open run, and reports folders that belong to no run', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-downloaded-before-merge', 2));
      const open = await foldersOf(job);
      const stray = path.join(job.config().stateDir, 'runs', 'of-nobody');
      await mkdir(stray);
      const { runs, unknown } = await prune(job.config(), { olderThan: 0, clock: daysLater(400) });
      expect(runs).toEqual([]);
      expect(unknown).toEqual([stray]);
      expect(await foldersOf(job)).toEqual([...open, 'of-nobody']);
      expect(await job.enrich()).toMatchObject({ found: 'continued', exitCode: 0 });
    });
  });
});

it('the command asks before it removes what retention.results keeps', () =>
  withLocalJob({ names: fineNames(3) }, async (job) => {
    const { run } = await job.enrich();
    const command = (...args: string[]) =>
      callMain(['runs', 'prune', '-c', job.file, '--older-than', '0d', ...args]);
    const refused = await command();
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /would remove the results of 1 run \(.*\) that retention\.results \(30d\) keeps \[PRUNE_UNCONFIRMED\]/,
    );
    expect(refused.stderr).toContain(`foliopipe runs prune -c ${job.file} --older-than 0d --yes`);
    const spaced = await callMain(['runs', 'prune', '-c', job.file, '--older-than', '0 d']);
    expect(spaced.stderr).toContain(`foliopipe runs prune -c ${job.file} --older-than '0 d' --yes`);
    expect((await command('--dry-run')).stdout).toContain('results of 1 run would be removed');
    const { stdout } = await command('--yes');
    expect(stdout).toMatch(new RegExp(`^${run}  done.*\\nresults of 1 run removed`));
    expect(await command()).toMatchObject({ code: 0, stderr: '' });
  }));

function daysLater(days: number) {
  return { ...systemClock, now: () => Date.now() + days * day };
}

function ids(runs: readonly RunSummary[]): string[] {
  return runs.map(({ run }) => run).sort();
}

async function foldersOf(job: Job): Promise<string[]> {
  return (await readdir(path.join(job.config().stateDir, 'runs'))).sort();
}

/** Run folders that hold more than the journal. */
async function holders(job: Job): Promise<string[]> {
  const { stateDir } = job.config();
  const held: string[] = [];
  for (const run of await foldersOf(job)) {
    const names = await readdir(path.join(stateDir, 'runs', run));
    expect(names).toContain('paid.log');
    if (names.length > 1) held.push(run);
  }
  return held;
}

async function sentRecords(job: Job): Promise<number> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    let records = 0;
    const terms = { timeZone: 'UTC', pricePerRecord: null };
    for await (const entry of readLedger(reader, undefined, terms)) records += entry.records;
    return records;
  } finally {
    await reader.close();
  }
}
