/** `foliopipe state backup` and `state restore`: while runs work, after a loss, with journals that survived, damaged. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import {
  copyFile,
  cp,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import {
  adopt,
  backupState,
  type Config,
  collect,
  createFileLock,
  enrich,
  openRun,
  publish,
  type RunOptions,
  restoreState,
  retry,
  search,
  submit,
  systemClock,
} from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { useSharedFolder, withFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, filesUnder } from '../../helpers/jobs/cli-job.js';
import { withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour, stopAt } from '../../helpers/jobs/interrupted-job.js';
import { changedLines, sampleLines, withNights } from '../../helpers/jobs/nights.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, spawnCli } from '../../helpers/processes/cli.js';
import { useServe } from '../../helpers/service/serve.js';
import { flipBit, loseCheckpoint } from '../../helpers/state/killed-state.js';
import { withStateFixture } from '../../helpers/state/prepared-state.js';

const yes: RunOptions = { yes: true };
const loseState = (config: Config) => rm(config.stateDir, { recursive: true });

/** Where the line of the last folio stands in a journal. Lines behind it may tell of chunks that were cut and not paid. */
function lastFolio(journal: string): { readonly from: number; readonly to: number } {
  const inLine = journal.lastIndexOf('"type":"accepted"');
  expect(inLine).toBeGreaterThan(0);
  return { from: journal.lastIndexOf('\n', inLine) + 1, to: journal.indexOf('\n', inLine) + 1 };
}

describe('a real run that is killed', () => {
  const folder = useSharedFolder();
  const serve = useServe({ recordsPerSecond: 60 });
  it('is backed up while it works, restored after the loss of all state, and finished', async () => {
    const settings = { concurrency: { folios: 1, uploads: 1 } };
    const unbroken = await createJob(await folder(), { pipeline: 'unbroken', baseUrl: serve.url });
    await enrichJob(unbroken);
    const job = await createJob(await folder(), { pipeline: 'lost', baseUrl: serve.url, settings });
    const backup = join(await folder(), 'backups', 'one');
    const env = { ...job.env, FOLIOPIPE_CRASH_AT: 'after-accepted-before-poll:5' };
    const child = spawnCli(['run', job.config], { env });
    const accepted = async (state: string) => {
      const [run = ''] = await readdir(join(state, 'runs'));
      const journal = await readFile(join(state, 'runs', run, 'paid.log'), 'utf8');
      return journal.split('"type":"accepted"').length - 1;
    };
    await expect.poll(() => accepted(job.stateDir)).toBeGreaterThan(1);
    await backupState({ stateDir: job.stateDir }, { folder: backup });
    expect((await child.ended).signal).toBe('SIGKILL');
    expect(await accepted(job.stateDir)).toBe(5);
    const known = await accepted(backup);

    await rm(job.stateDir, { recursive: true });
    const restored = await callMain(['state', 'restore', backup, job.config], { env: job.env });
    expect(restored.code, restored.stderr).toBe(0);
    expect(restored.stdout).toMatch(
      /^restored: the state of .*\n.*lost, unfinished then: \d uploads? known; /,
    );
    expect(restored.stdout).toMatch(/\nnext: what was sent after .* is not known, .*--yes/);

    for (const command of ['status', 'plan']) {
      const told = await callMain([command, job.config], { env: job.env });
      expect(told.stdout).toMatch(/what lost sent after that is not known.*RESTORED_UNCONFIRMED/);
    }
    const refused = await callMain(['run', job.config], { env: job.env });
    expect(refused.code).toBe(9);
    expect(refused.stderr).toMatch(/nothing was sent \[RESTORED_UNCONFIRMED\]\n {2}next: .*lost-.*--yes/);
    const end = await callMain(['run', job.config, '--yes'], { env: job.env });
    expect(end.code, end.stderr).toBe(0);
    expect(await readFile(job.output)).toEqual(await readFile(unbroken.output));
    // It is asked once.
    expect((await callMain(['run', job.config], { env: job.env })).code).toBe(0);
    const again = await callMain(['state', 'restore', backup, '--replace', job.config], { env: job.env });
    expect(again.code, again.stderr).toBe(0);
    expect(again.stdout).toMatch(/\nwhat was there before is kept as \S+checkpoint\.db\.\w+\.replaced\n/);

    // Bought twice: what was accepted after the backup, and nothing else.
    expect(await serve.served('lost-')).toHaveLength(6 + 5 - known);
  });
});

describe('backups of one run at many moments', () => {
  it('can each be restored, and each gives the whole output', async () => {
    await withJob({ behaviour }, async (job) => {
      const { stateDir } = job.config();
      const made: Promise<unknown>[] = [];
      const at: RunOptions['at'] = (point) => {
        if (!/^(after-cut|after-post|after-accepted|after-part|after-merge)/.test(point)) return;
        const folder = join(job.folder, 'backups', `${made.length}`);
        if (made.length < 40) made.push(backupState({ stateDir }, { folder }));
      };
      await job.enrich({}, { at });
      const whole = await job.output();
      await Promise.all(made);
      expect(made.length).toBeGreaterThan(10);
      for (let one = 0; one < made.length; one += 7) {
        const config = job.config({
          stateDir: `restored-${one}`,
          output: { path: `out-${one}/enriched.csv` },
        });
        const folder = join(job.folder, 'backups', `${one}`);
        expect(await restoreState(config, { folder })).toMatchObject({ isComplete: false });
        const same = { ...config, output: job.config().output };
        await enrich(same, yes);
        expect(await job.output()).toBe(whole);
      }
    });
  });
});

describe('after the loss of', () => {
  it('the database alone: the journals tell what was paid since, and nothing that they tell is bought again', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      const stop = () => job.failure({}, stopAt('after-accepted-before-poll', 2));
      await stop();
      await backupState(job.config(), { folder });
      await stop();
      await loseCheckpoint(job);

      await expect(restoreState(job.config(), { folder })).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY' });
      // The log of the lost database must not become one of the restored database.
      await writeFile(join(job.config().stateDir, 'checkpoint.db-wal'), 'of another database');
      const restored = await restoreState(job.config(), { folder, replace: true });
      expect(restored).toMatchObject({ isComplete: false, recovered: { runs: [{ found: 'rebuilt' }] } });
      expect(restored.aside[0]).toMatch(/checkpoint\.db-wal\.\w+\.replaced$/);
      await expect(job.enrich()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
      const mark = join(job.config().stateDir, 'restored.json');
      expect((await stat(mark)).mode & 0o777).toBe(0o600);
      // One that cannot be read confirms nothing.
      await writeFile(mark, '{');
      await expect(job.enrich()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
      await job.enrich({}, yes);
      expect(job.service.folios).toHaveLength(6);
    });
  });

  it('the state, and a night has begun a new one: it is no state, it proves nothing, and it is asked', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      const { stateDir } = job.config();
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      await backupState(job.config(), { folder });
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      for (const replace of [false, true]) {
        await loseState(job.config());
        await job.failure({ budget: { perRun: 1 } });
        expect(await readdir(stateDir)).toContain('checkpoint.db');
        const restored = await restoreState(job.config(), { folder, replace });
        expect(restored).toMatchObject({ isComplete: false });
        await expect(job.enrich()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
      }
    });
  });

  it('the state, and an older copy was put back by hand: it proves nothing, and it is asked', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      const { stateDir } = job.config();
      await job.failure({}, stopAt('after-accepted-before-poll', 1));
      await cp(stateDir, join(job.folder, 'copy'), { recursive: true });
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      await backupState(job.config(), { folder });
      await loseState(job.config());
      await cp(join(job.folder, 'copy'), stateDir, { recursive: true });
      await expect(restoreState(job.config(), { folder })).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY' });
      const restored = await restoreState(job.config(), { folder, replace: true });
      expect(restored).toMatchObject({ isComplete: false });
      await expect(job.enrich()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
    });
  });

  it('nothing: the old database and the journals agree, and nothing is asked', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      await backupState(job.config(), { folder });
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      expect(await restoreState(job.config(), { folder, replace: true })).toMatchObject({ isComplete: true });
      await job.enrich();
      expect(job.service.folios).toHaveLength(6);
    });
  });

  it.each([
    ['the last lines of a journal', (text: string) => text.slice(0, lastFolio(text).from)],
    ['the end of a line', (text: string) => text.slice(0, lastFolio(text).to - 9)],
    ['the journal', () => null],
  ])(
    '%s: the old database tells that it is lost, and it is asked before anything is sent',
    async (_, change) => {
      await withJob({ behaviour }, async (job) => {
        const folder = join(job.folder, 'backup');
        await job.failure({}, stopAt('after-accepted-before-poll', 1));
        await backupState(job.config(), { folder });
        await job.failure({}, stopAt('after-accepted-before-poll', 3));
        const { stateDir } = job.config();
        const [journal = ''] = (await filesUnder(stateDir)).filter((name) => name.endsWith('paid.log'));
        const text = change(await readFile(join(stateDir, journal), 'utf8'));
        if (text === null) await rm(join(stateDir, journal));
        else await writeFile(join(stateDir, journal), text);
        const restored = await restoreState(job.config(), { folder, replace: true });
        expect(restored).toMatchObject({ isComplete: false });
        await expect(job.enrich()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
      });
    },
  );

  it('the database and a run that began after the backup: the journal of an older run proves nothing', async () => {
    await withNights({}, async (nights) => {
      const { stateDir } = nights.config();
      const folder = join(nights.folder, 'backup');
      const { run } = await nights.night(sampleLines(20));
      await backupState({ stateDir }, { folder });
      const later = await nights.night(sampleLines(40));
      await rm(join(stateDir, 'runs', later.run), { recursive: true });
      await loseCheckpoint(nights);
      expect(existsSync(join(stateDir, 'runs', run, 'paid.log'))).toBe(true);
      const restored = await restoreState(nights.config(), { folder, replace: true });
      expect(restored).toMatchObject({ isComplete: false });
      await expect(nights.again()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
    });
  });

  it('everything, with answers for the next night and a delta to go on', async () => {
    const config = { source: { key: ['id'] }, output: { delta: true } };
    await withNights({ config }, async (nights) => {
      const { stateDir } = nights.config();
      const folder = join(nights.folder, 'backup');
      await nights.night(sampleLines(60));
      const [segment = ''] = await readdir(join(stateDir, 'reuse', 'segments'));
      for (const [name, code] of [
        ['secret', 'REUSE_SECRET_LOST'],
        [`segments/${segment}`, 'REUSE_SEGMENT_LOST'],
      ] as const) {
        const path = join(stateDir, 'reuse', name);
        await rename(path, `${path}.away`);
        await expect(backupState({ stateDir }, { folder })).rejects.toMatchObject({ code, exitCode: 2 });
        await rename(`${path}.away`, path);
      }
      await backupState({ stateDir }, { folder });
      const next = changedLines(sampleLines(60), 1);
      const expected = await nights.night(next);
      const rows = await nights.rows();
      // What the next delta is compared with stays that of the output in place.
      const [last = ''] = (await filesUnder(stateDir)).filter((name) => name.endsWith('/last.json'));
      const ofOutput = await readFile(join(stateDir, last), 'utf8');
      await restoreState(nights.config(), { folder, replace: true });
      expect(await readFile(join(stateDir, last), 'utf8')).toBe(ofOutput);
      await loseState(nights.config());

      const manifest = `${nights.config().output.path}.manifest.json`;
      const written = await readFile(manifest, 'utf8');
      await writeFile(manifest, written.replace(expected.run, 'x\\ny'));
      const planned = await restoreState(nights.config(), { folder, dryRun: true });
      expect(planned.newerOutputs).toMatchObject([{ run: 'x\\u{a}y' }]);
      await writeFile(manifest, written);
      const restored = await restoreState(nights.config(), { folder });
      expect(restored.newerOutputs).toMatchObject([{ publication: 2, known: 1, run: expected.run }]);
      const again = await nights.again({}, yes);
      expect(again.bought).toEqual(expected.bought);
      expect(await nights.rows()).toEqual(rows);
    });
  });

  it('everything, while the service has forgotten its folios: the parts of a backup with results suffice', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      const { run } = await job.enrich();
      const output = await job.output();
      const backedUp = await backupState(job.config(), { folder, results: true });
      expect(backedUp.partsLeftOut).toBe(0);
      await loseState(job.config());
      await rm(job.outputPath);
      await job.service.close();
      await restoreState(job.config(), { folder });
      await publish(job.config(), run);
      expect(await job.output()).toBe(output);
    });
  });
});

describe('a chunk that was sent after the backup', () => {
  it('gets its folio from a person, although the restored state has never cut it, and is not paid for again', async () => {
    await withJob({ behaviour, config: { concurrency: { uploads: 1, folios: 1 } } }, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.failure({}, stopAt('after-accepted-before-poll', 1));
      await backupState(job.config(), { folder });
      await job.failure({}, stopAt('after-accepted-before-poll', 3));
      const { fileName, id: folio } = job.service.folios[3]!;
      const [, run = '', chunk = ''] = /-(\d{8}T\d{6}-\w{6})-(\d+)-1-\w{8}\.csv$/.exec(fileName)!;
      await loseState(job.config());
      await restoreState(job.config(), { folder });

      const other = { run, chunk: Number(chunk) + 1, folio };
      await expect(adopt(job.config(), other)).rejects.toMatchObject({ code: 'ADOPT_FILE_DIFFERS' });
      // Nothing else proves that it was sent. It is paid for, so no cap holds it back.
      const own = { run, chunk: Number(chunk), folio };
      job.service.behaviour = {
        ...behaviour,
        tracking: ({ filename: _, description: __, ...reply }) => reply,
      };
      await expect(adopt(job.config(), own)).rejects.toMatchObject({ code: 'ADOPT_FILE_DIFFERS' });
      job.service.behaviour = behaviour;
      expect(await adopt(job.config({ budget: { perRun: 10 } }), own)).toMatchObject({ folio });
      const unconfirmed = { code: 'RESTORED_UNCONFIRMED', exitCode: 9 };
      await expect(job.enrich()).rejects.toMatchObject(unconfirmed);
      for (const existing of [true, run] as const) {
        await expect(job.enrich({}, { existing })).rejects.toMatchObject(unconfirmed);
        await expect(submit(job.config(), { existing })).rejects.toMatchObject(unconfirmed);
        await expect(openRun(job.config(), { existing })).rejects.toMatchObject(unconfirmed);
      }
      await expect(retry(job.config(), run)).rejects.toMatchObject(unconfirmed);
      await job.enrich({}, yes);
      const sent = job.service.folios.map((one) => one.fileName.replace(/-1-\w+\.csv$/, ''));
      expect(sent.filter((name) => name.endsWith(`-${chunk}`))).toHaveLength(1);
      // Chunks 2 and 3 were sent after the backup too, and nobody adopted them.
      expect(sent).toHaveLength(8);
    });
  });
});

describe('a restored state asks before it pays', () => {
  const unconfirmed = { code: 'RESTORED_UNCONFIRMED', exitCode: 9 };

  it('and not for what sends nothing; a retry is confirmed by a run alone', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      const { run } = await job.enrich();
      await backupState(job.config(), { folder, results: true });
      await loseState(job.config());
      await restoreState(job.config(), { folder });
      expect(await collect(job.config())).toMatchObject({ run, found: 'done' });
      expect(await publish(job.config(), run)).toMatchObject({ run, publication: 2 });
      for (const options of [{}, yes]) {
        await expect(retry(job.config(), run, options)).rejects.toMatchObject(unconfirmed);
      }
      await expect(job.enrich()).rejects.toMatchObject(unconfirmed);
      const opened = await openRun(job.config(), { existing: run, yes: true });
      await opened.close();
      expect(await job.enrich()).toMatchObject({ run, found: 'done' });
      await retry(job.config(), run);
    });
  });

  it('and not where a deadline lets what is collected be published', async () => {
    const working: Behaviour = {
      finishedAtPoll: ({ chunk }) => (chunk === 1 ? 1 : Number.POSITIVE_INFINITY),
    };
    await withJob({ behaviour: working, config: { concurrency: { folios: 9 } } }, async (job) => {
      const folder = join(job.folder, 'backup');
      const { run } = await submit(job.config());
      await backupState(job.config(), { folder });
      await loseState(job.config());
      await restoreState(job.config(), { folder });
      const options = { deadline: Date.now() + 1_000, publishPartial: true };
      const counts = { successful: expect.any(Number), unprocessed: 50 };
      expect(await collect(job.config(), options)).toMatchObject({ run, exitCode: 8, counts });
    });
  });
});

describe('a backup', () => {
  it('has private files, a list with hashes, and leaves nothing beside it', async () => {
    await withJob({}, async (job) => {
      await job.enrich();
      const folder = join(job.folder, 'backups', 'b');
      const { partsLeftOut, files } = await backupState(job.config(), { folder });
      expect(partsLeftOut).toBeGreaterThan(5);
      expect(await readdir(join(job.folder, 'backups'))).toEqual(['b']);
      const found = await filesUnder(folder);
      expect(found).toHaveLength(files + 1);
      expect(found.filter((name) => /part-|chunk-|-wal$/.test(name))).toEqual([]);
      for (const name of found) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
    });
  });

  it('removes what a killed one has left a day ago, and nothing of another name', async () => {
    await withJob({}, async (job) => {
      await job.enrich();
      const backups = join(job.folder, 'backups');
      const old = Date.now() / 1000 - 25 * 3_600;
      for (const name of ['b.partial-abc123', 'b.partial-abc456', 'by hand.partial-abc789']) {
        await mkdir(join(backups, name), { recursive: true });
        if (!name.endsWith('456')) await utimes(join(backups, name), old, old);
      }
      await backupState(job.config(), { folder: join(backups, 'b') });
      expect((await readdir(backups)).sort()).toEqual(['b', 'b.partial-abc456', 'by hand.partial-abc789']);
    });
  });

  it('is made by the command, which says what it holds and how to check it', async () => {
    await withFolder(async (folder) => {
      const job = await createJob(folder);
      await callMain(['run', job.config, '--set', 'retry.giveUpAfter=50ms'], { env: job.env });
      const backup = join(folder, 'b');
      const text = await callMain(['state', 'backup', backup, job.config], { env: job.env });
      expect(text.code, text.stderr).toBe(0);
      expect(text.stdout).toMatch(
        /: the state of \S+Z, 1 run \(1 unfinished\), 2 files, .*\ncheck it with: /,
      );
      const checked = await callMain(['state', 'restore', backup, '--dry-run', job.config], { env: job.env });
      expect(checked.stdout).toMatch(/^can be restored: the state of /);
      expect(checked.stdout).toMatch(
        /\nbut it would be refused now: \S+ holds a state: .* \[STATE_NOT_EMPTY\]; .*--replace/,
      );
      const json = await callMain(['state', 'backup', join(folder, 'c'), job.config, '--json'], {
        env: job.env,
      });
      const summary = { type: 'summary', runs: 1, files: 2, results: false, exitCode: 0 };
      expect(jsonLines(json.stdout)).toMatchObject([summary]);
    });
  });

  it.each(['version-1-mid-run', 'version-1-done', 'version-2-mid-round'])(
    'of %s is restored as it was',
    async (name) => {
      await withStateFixture(name, async (home) => {
        const folder = join(home, 'backup');
        const { runs } = await backupState({ stateDir: join(home, 'state') }, { folder });
        const restored = await restoreState({ stateDir: join(home, 'new'), pipeline: 'nightly' }, { folder });
        expect(runs.length).toBeGreaterThan(0);
        expect(restored).toMatchObject({ runs, isComplete: false });
        expect(restored.recovered!.runs.filter(({ found }) => found === 'lost')).toEqual([]);
      });
    },
  );

  it('is refused where a file or another backup is, within the state, and without a state', async () => {
    await withJob({}, async (job) => {
      const backup = (folder: string) => backupState(job.config(), { folder: join(job.folder, folder) });
      await expect(backup('b')).rejects.toMatchObject({ code: 'STATE_MISSING' });
      await job.enrich();
      await backup('b');
      await mkdir(join(job.folder, 'empty'));
      await backup('empty');
      await expect(backup('b')).rejects.toMatchObject({ code: 'BACKUP_PLACE_TAKEN', exitCode: 2 });
      await expect(backup('source.csv')).rejects.toMatchObject({ code: 'BACKUP_PLACE_TAKEN' });
      const inside = job.config().stateDir.slice(job.folder.length + 1);
      await expect(backup(`${inside}/b`)).rejects.toMatchObject({ code: 'BACKUP_WITHIN_STATE' });
      await loseCheckpoint(job);
      await expect(backup('lost')).rejects.toMatchObject({ code: 'CHECKPOINT_LOST', exitCode: 2 });
      expect((await readdir(job.folder)).filter((name) => name.includes('partial'))).toEqual([]);
    });
  });

  it('that cannot be made names its own folder, and leaves none', async () => {
    await withJob({}, async (job) => {
      await job.enrich();
      const file = join(job.folder, 'file');
      await writeFile(file, '');
      await expect(backupState(job.config(), { folder: join(file, 'b') })).rejects.toMatchObject({
        code: 'PATH_NOT_FOLDER',
        message: expect.stringContaining(file),
      });
      await expect(backupState(job.config(), { folder: '/proc/b/c' })).rejects.toMatchObject({
        code: 'FOLDER_UNWRITABLE',
        message: expect.stringContaining('/proc/b'),
      });
      await loseCheckpoint(job);
      const folder = join(job.folder, 'new', 'deep', 'b');
      await expect(backupState(job.config(), { folder })).rejects.toMatchObject({ code: 'CHECKPOINT_LOST' });
      expect(await readdir(job.folder)).not.toContain('new');
    });
  });

  it('with a folder or nothing but a pipe in place of a file is damaged', async () => {
    await withJob({}, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.enrich();
      await backupState(job.config(), { folder });
      const target = job.config({ stateDir: 'elsewhere' });
      for (const name of ['checkpoint.db', 'backup.json']) {
        const path = join(folder, name);
        const makers = [() => mkdir(path), async () => void execFileSync('mkfifo', [path])];
        const kept = join(job.folder, 'kept');
        await rename(path, kept);
        for (const make of makers) {
          await make();
          await expect(restoreState(target, { folder })).rejects.toMatchObject({
            code: 'BACKUP_DAMAGED',
            facts: { path },
          });
          await rm(path, { recursive: true });
        }
        await rename(kept, path);
      }
    });
  });

  it('that is damaged anywhere is refused before anything is restored', async () => {
    await withJob({}, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.enrich({}, {});
      await backupState(job.config(), { folder });
      const target = job.config({ stateDir: 'elsewhere' });
      const refused = async (code = 'BACKUP_DAMAGED') => {
        await expect(restoreState(target, { folder })).rejects.toMatchObject({ code, exitCode: 2 });
        await expect(stat(target.stateDir)).rejects.toThrow('ENOENT');
      };
      for (const name of await filesUnder(folder)) {
        const path = join(folder, name);
        const kept = join(job.folder, 'kept');
        await copyFile(path, kept);
        await flipBit(path, 40);
        await refused();
        await copyFile(kept, path);
      }
      const list = join(folder, 'backup.json');
      const text = await readFile(list, 'utf8');
      await writeFile(list, text.replace('"path": "checkpoint.db"', '"path": "../checkpoint.db"'));
      await refused();
      // A list that is whole, and names a file outside of the backup.
      const { sum, ...whole } = JSON.parse(text);
      const outside = { ...whole, files: [...whole.files, { ...whole.files[0], path: '../checkpoint.db' }] };
      await copyFile(join(folder, 'checkpoint.db'), join(job.folder, 'checkpoint.db'));
      await writeFile(list, JSON.stringify({ ...outside, sum: crc32(JSON.stringify(outside)) }));
      await refused();
      const newer = { ...whole, version: whole.version + 1 };
      await writeFile(list, JSON.stringify({ ...newer, sum }));
      await refused('BACKUP_NEWER');
      await rm(list);
      await refused('BACKUP_MISSING');
      await writeFile(list, text);
      expect(await restoreState(target, { folder, dryRun: true })).toMatchObject({
        recovered: null,
        refusal: null,
      });
      await expect(stat(target.stateDir)).rejects.toThrow('ENOENT');
    });
  });
});

describe('a restore', () => {
  it('waits for nobody: exit 11 while a run works in the folder', async () => {
    await withJob({}, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.enrich();
      await backupState(job.config(), { folder });
      await loseState(job.config());
      const { stateDir, pipeline } = job.config();
      const lock = await createFileLock(stateDir).take(pipeline, {
        pid: 1,
        command: 'run',
        since: 0,
      });
      await expect(restoreState(job.config(), { folder })).rejects.toMatchObject({ exitCode: 11 });
      const checked = await restoreState(job.config(), { folder, dryRun: true });
      expect(checked.refusal).toMatchObject({ code: 'PIPELINE_LOCKED' });
      await lock.close();
      expect(await readdir(job.config().stateDir)).toEqual(['locks']);
    });
  });

  it('that was interrupted leaves a state that is refused; the same command goes on, and it still asks before it pays', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      const { files } = await backupState(job.config(), { folder, results: true });
      expect(files).toBeGreaterThan(1);
      await loseState(job.config());
      const stopped = new AbortController();
      await expect(interruptedRestore(job.config(), folder, stopped)).rejects.toMatchObject({
        code: 'INTERRUPTED',
        cause: new Error('stopped'),
      });

      await expect(job.enrich({}, yes)).rejects.toMatchObject({ code: 'CHECKPOINT_LOST', exitCode: 2 });
      const moved = join(job.folder, 'other');
      await cp(folder, moved, { recursive: true });
      await expect(restoreState(job.config(), { folder: moved })).rejects.toMatchObject({
        code: 'STATE_NOT_EMPTY',
      });
      await restoreState(job.config(), { folder });
      await expect(restoreState(job.config(), { folder })).rejects.toMatchObject({ code: 'STATE_NOT_EMPTY' });
      await expect(job.enrich()).rejects.toMatchObject({ code: 'RESTORED_UNCONFIRMED' });
      const { pipeline } = job.config();
      const searching = job.config({ service: { legacyBaseUrl: job.service.url } });
      await expect(search(searching, { name: 'Clinic' })).rejects.toMatchObject({
        code: 'RESTORED_UNCONFIRMED',
        facts: { pipeline },
      });
      const bought = job.service.folios.length;
      await job.enrich({}, yes);
      expect(job.service.folios.length).toBe(Math.max(6, bought));
    });
  });

  it('keeps the database that it replaces, and refuses two journals of which neither knows all', async () => {
    await withJob({ behaviour }, async (job) => {
      const folder = join(job.folder, 'backup');
      await job.failure({}, stopAt('after-accepted-before-poll', 2));
      await backupState(job.config(), { folder });
      // Two restores within one second.
      const kept: string[] = [];
      for (const now of [1000, 1001]) {
        const clock = { ...systemClock, now: () => now };
        const { aside } = await restoreState(job.config(), { folder, replace: true, clock });
        kept.push(...aside.filter((path) => /checkpoint\.db\.\w+\.replaced$/.test(path)));
      }
      expect(new Set(kept).size).toBe(2);

      const [journal = ''] = (await filesUnder(folder)).filter((name) => name.endsWith('paid.log'));
      const other = join(job.config().stateDir, journal);
      const known = (await readFile(other, 'utf8')).length;
      await job.enrich();
      const text = await readFile(other, 'utf8');
      const firstAccepted = /^.*"accepted".*\n/m;
      await writeFile(other, text.slice(0, known).replace(firstAccepted, '') + text.slice(known));
      await expect(restoreState(job.config(), { folder, replace: true })).rejects.toMatchObject({
        code: 'RESTORE_JOURNALS_DIFFER',
      });
    });
  });

  it('of a folder that is no backup names what is missing', async () => {
    await withFolder(async (folder) => {
      const config = { stateDir: join(folder, 'state'), pipeline: 'nightly' };
      await expect(restoreState(config, { folder })).rejects.toMatchObject({ code: 'BACKUP_MISSING' });
    });
  });
});

/** A restore that is stopped before it puts the database in place. */
async function interruptedRestore(
  config: Config,
  folder: string,
  stopped: AbortController,
): Promise<unknown> {
  const journalIsThere = () => readdirSync(config.stateDir).includes('runs');
  const { throwIfAborted } = AbortSignal.prototype;
  const check = vi.spyOn(AbortSignal.prototype, 'throwIfAborted').mockImplementation(function (
    this: AbortSignal,
  ) {
    if (existsSync(config.stateDir) && journalIsThere()) stopped.abort(new Error('stopped'));
    throwIfAborted.call(this);
  });
  return restoreState(config, { folder, signal: stopped.signal }).finally(() => check.mockRestore());
}
