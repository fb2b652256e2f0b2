/** State files of released versions are copied and migrated, and their runs go on, wherever they stopped. */
import { copyFile, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RunSummary } from '../../../pipelines/index.js';
import { createFileLock } from '../../../src/checkpoint/sqlite/pipeline-lock.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, runCli } from '../../helpers/processes/cli.js';
import { withStateFixture } from '../../helpers/state/prepared-state.js';

describe('a state file of version 1', () => {
  it('in the middle of a run goes on there, and a copy of the old file is kept', async () => {
    await withStateFixture('version-1-mid-run', async (folder) => {
      const { code, stdout, stderr } = await here(folder, 'run', '--json', ...tolerant);
      expect(code, stderr).toBe(0);
      const summary = jsonLines(stdout).at(-1);
      // Chunk 4 was being sent when that process ended, so it is ambiguous and sent again.
      expect(summary).toMatchObject({ found: 'continued', state: 'done' });
      expect(summary).toMatchObject({ uploads: { accepted: 6, ambiguous: 1, resubmitted: 1 } });
      // That version has written rows without keeping why they failed.
      const { counts, failedBy, failedWithoutReason } = summary as unknown as RunSummary;
      const known = failedBy.reduce((sum, { records }) => sum + records, 0);
      expect(failedWithoutReason).toBeGreaterThan(0);
      expect(known + failedWithoutReason).toBe(counts.failed + counts.unprocessed);
      expect(await readFile(join(folder, 'out/enriched.csv'))).toEqual(await freshOutput(folder));

      const copy = join(folder, 'state/checkpoint.db.v1.bak');
      expect((await stat(copy)).mode & 0o777).toBe(0o600);
      expect(await statesIn(copy)).toEqual(['downloaded', 'submitted', 'downloaded', 'uploading']);
    });
  });

  it('of a run that is done costs nothing, and publishes the same bytes again', async () => {
    await withStateFixture('version-1-done', async (folder) => {
      const output = join(folder, 'out/enriched.csv');
      const before = await readFile(output);
      const done = await here(folder, 'run', '--json');
      expect(done.code, done.stderr).toBe(3);
      const summary = jsonLines(done.stdout).at(-1) as { run: string };
      expect(summary).toMatchObject({ found: 'done', output: { inPlace: true } });
      // That version stored no number, and this fixture has no manifest.
      expect(summary).toMatchObject({ publication: 2, publishedAgain: 'its manifest was not there' });
      expect(await readFile(output)).toEqual(before);
      await writeFile(output, 'lost');
      const again = await here(folder, 'publish', summary.run);
      expect(again.code, again.stderr).toBe(3);
      expect(await readFile(output)).toEqual(before);
      const ledger = await here(folder, 'ledger', '--all', '--json');
      expect(jsonLines(ledger.stdout).filter(({ type }) => type === 'upload')).toHaveLength(7);
    });
  });

  it('is left alone while another pipeline uses it', async () => {
    await withStateFixture('version-1-done', async (folder) => {
      const state = join(folder, 'state');
      const holder = { pid: 4711, command: 'run other.yaml', since: Date.now() };
      const lock = await createFileLock(state).take('other', holder);
      // The lock is one between processes.
      const { code, stderr } = await runCli(['run', '-c', join(folder, 'foliopipe.yaml')]);
      await lock.close();
      expect(code, stderr).toBe(11);
      expect(stderr).toMatch(/process 4711 \(run other\.yaml\)/);
      expect(versionOf(join(state, 'checkpoint.db'))).toBe(1);
    });
  });

  it('is not read by reading commands, which name the next step', async () => {
    await withStateFixture('version-1-done', async (folder) => {
      const { code, stderr } = await here(folder, 'runs');
      expect(code).toBe(2);
      expect(stderr).toMatch(/\[CHECKPOINT_OLDER\]\n {2}next: .*foliopipe run/);
    });
  });
});

describe('a state file of version 2', () => {
  it('in the middle of a round goes on there, and gets a journal', async () => {
    await withStateFixture('version-2-mid-round', async (folder) => {
      const { code, stdout, stderr } = await here(folder, 'run', '--json');
      expect(code, stderr).toBe(0);
      const summary = jsonLines(stdout).at(-1) as { run: string };
      // Chunks 7 and 8 of the round were being sent when that process ended.
      expect(summary).toMatchObject({ found: 'continued', state: 'done' });
      expect(summary).toMatchObject({ uploads: { accepted: 8, ambiguous: 2, resubmitted: 2 } });
      expect(await readFile(join(folder, 'out/enriched.csv'))).toEqual(await freshOutput(folder));
      expect(stderr).not.toMatch(/journal/);
      expect(versionOf(join(folder, 'state/checkpoint.db.v2.bak'))).toBe(2);

      await rm(join(folder, 'state/checkpoint.db'));
      expect((await here(folder, 'status')).code).toBe(2);
      const recovered = await here(folder, 'recover');
      expect(recovered.code, recovered.stderr).toBe(0);
      expect(recovered.stdout).toContain(
        `${summary.run}  fixture, done: 29 records paid for, 5 more perhaps, 8 folios`,
      );
      const again = await here(folder, 'run', '--json');
      expect(jsonLines(again.stdout).at(-1)).toMatchObject({ found: 'done', run: summary.run });
    });
  });

  it('that is restored beside journals which know more is refused', async () => {
    await withStateFixture('version-2-mid-round', async (folder) => {
      expect((await here(folder, 'run')).code).toBe(0);
      const state = join(folder, 'state');
      await copyFile(join(state, 'checkpoint.db.v2.bak'), join(state, 'checkpoint.db'));
      const { code, stderr } = await here(folder, 'run');
      expect(code).toBe(2);
      expect(stderr).toMatch(/\[CHECKPOINT_BEHIND\]\n {2}next: .*foliopipe recover/);
      expect((await here(folder, 'recover')).code).toBe(0);
      expect((await here(folder, 'run')).code).toBe(0);
    });
  });
});

/** A fifth of the records fail, and nobody waits for the service. */
const tolerant = [
  'failures.tolerate=100%',
  'service.requestsPerSecond=1000',
  'poll.first=20ms',
  'poll.max=100ms',
].flatMap((setting) => ['--set', setting]);

function here(folder: string, ...args: string[]) {
  return callMain([...args, '-c', join(folder, 'foliopipe.yaml')]);
}

/** The output of an uninterrupted run of the same source. */
async function freshOutput(folder: string): Promise<Buffer> {
  const fresh = join(folder, 'fresh');
  await mkdir(fresh);
  for (const file of ['foliopipe.yaml', 'source.csv']) await copyFile(join(folder, file), join(fresh, file));
  expect((await here(fresh, 'run', ...tolerant)).code).toBe(0);
  return readFile(join(fresh, 'out/enriched.csv'));
}

async function statesIn(path: string): Promise<string[]> {
  const database = openSqlite(path, { readonly: true });
  const states = database.prepare<[], string>('SELECT state FROM chunks ORDER BY number').pluck().all();
  database.close();
  return states;
}

function versionOf(path: string): unknown {
  const database = openSqlite(path, { readonly: true });
  const version = database.pragma('user_version', { simple: true });
  database.close();
  return version;
}
