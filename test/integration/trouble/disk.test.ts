/**
 * A failing disk, and files that were changed between two runs: a clear error or a repair, never a wrong output.
 * `npm run prove:crash` covers a full disk in each window; lost and damaged parts and a work file of another length
 * are in test/integration/resume/stopped-anywhere.test.ts.
 */
import { execFile, spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, open, readdir, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../pipelines/index.js';
import { hintOf } from '../../../src/hints.js';
import { openSqlite } from '../../../src/sqlite-driver.js';
import { type Clock, systemClock } from '../../../src/streams/clock.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { expectEnriched, expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, interrupt, stopAt, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, nodeFlags, runCli } from '../../helpers/processes/cli.js';
import { openUploadProxy } from '../../helpers/service/upload-proxy.js';
import { loseDatabase } from '../../helpers/state/killed-state.js';
import { withStateFixture } from '../../helpers/state/prepared-state.js';

describe('a checkpoint that is damaged', () => {
  const damages: Readonly<Record<string, (file: string) => Promise<void>>> = {
    'has lost its second half': async (file) => truncate(file, Math.floor((await stat(file)).size / 2)),
    // The last page may be an empty one, of which only zeros would be lost.
    'is cut in the middle of a page': async (file) => truncate(file, (await stat(file)).size - 4096 - 1000),
    'has garbage in the middle': async (file) => {
      const handle = await open(file, 'r+');
      const { size } = await handle.stat();
      await handle.write(Buffer.alloc(size / 2, 0xa5), 0, size / 2, size / 4);
      await handle.close();
    },
    'has lost its first page': async (file) => {
      const handle = await open(file, 'r+');
      await handle.write(Buffer.alloc(4096), 0, 4096, 0);
      await handle.close();
    },
  };

  it.each(Object.entries(damages))(
    '%s: nothing is sent; with a restored copy the run goes on',
    async (_, damage) => {
      await withJob({ behaviour }, async (job) => {
        await interrupt(job, stopAt('after-merged-before-next', 2));
        const file = path.join(job.config().stateDir, 'checkpoint.db');
        await cp(file, `${file}.copy`);
        await damage(file);
        const requests = job.service.seen.length;
        const error = await job.failure();
        expect(error).toBeInstanceOf(ConfigError);
        expect(error).toMatchObject({ code: 'CHECKPOINT_DAMAGED', exitCode: 2, facts: { path: file } });
        expect(hintOf(error as ConfigError)).toContain('foliopipe recover');
        expect(job.service.seen.length).toBe(requests);
        await cp(`${file}.copy`, file);
        await expectSuccess(job, await job.enrich(), all);
        expect(await job.output()).toBe(await unbrokenOutput());
      });
    },
  );

  it.each(['missing', 'empty'])(
    '%s beside the files of runs: nothing is paid again unless those files are moved away, and --yes says so',
    async (how) => {
      await withJob({ behaviour }, async (job) => {
        await interrupt(job, stopAt('after-merged-before-next', 2));
        const { stateDir } = job.config();
        await loseDatabase(stateDir);
        if (how === 'empty') await writeFile(path.join(stateDir, 'checkpoint.db'), '');
        const requests = job.service.seen.length;
        expect(await job.failure()).toMatchObject({
          code: 'CHECKPOINT_LOST',
          exitCode: 2,
          facts: { runs: 1 },
        });
        expect(job.service.seen.length).toBe(requests);
        await rename(path.join(stateDir, 'runs'), path.join(stateDir, 'runs-of-old'));
        // Its rows are still beside the output.
        expect(await job.failure()).toMatchObject({ code: 'STATE_BEHIND', exitCode: 9 });
        expect(job.service.seen.length).toBe(requests);
        const summary = await job.enrich({}, { yes: true });
        expect(summary).toMatchObject({ found: 'new', exitCode: 0, uploads: { accepted: 6, ambiguous: 0 } });
        expect(await job.output()).toBe(await unbrokenOutput());
      });
    },
  );
});

describe('a work file that was changed', () => {
  it('between two runs, at the same length, is not published: its rows are written again', async () => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, stopAt('after-merged-before-next', 3));
      const [partial] = await job.published();
      const file = await open(path.join(path.dirname(job.outputPath), partial!), 'r+');
      await file.write(Buffer.from('#'), 0, 1, 300);
      await file.close();
      expect(await job.failure()).toMatchObject({ exitCode: 5, code: 'WORK_FILE_CHANGED' });
      expect((await job.published()).filter((name) => !name.endsWith('.partial'))).toEqual([]);
      const uploads = job.service.count('upload');
      await expectSuccess(job, await job.enrich(), all);
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(job.service.count('upload')).toBe(uploads);
    });
  });
});

describe('replies that cannot be recorded', () => {
  const config = { concurrency: { uploads: 3 } };

  /** Opens a proxy, and fails with three uploads in flight whose replies come after `spoil`. */
  async function failWith(job: Job, spoil: () => Promise<void>) {
    const proxy = await openUploadProxy(job.service.url);
    const settings = { service: { baseUrl: proxy.url } };
    const running = job.failure(settings);
    await proxy.accepted(3);
    await spoil();
    proxy.release();
    const error = (await running) as ConfigError;
    expect(job.service.folios).toHaveLength(3);
    return { error, settings, close: () => proxy.close() };
  }

  it('anywhere end the run with one error that names every folio, and the commands that adopt them', async () => {
    await withJob({ behaviour, config }, async (job) => {
      const { error, close } = await failWith(job, async () => {
        breakUploads(job);
        const journal = await journalOf(job);
        await rename(journal, `${journal}.aside`);
        await mkdir(journal);
      });
      await close();
      expect(error).toMatchObject({ code: 'FOLIO_NOT_RECORDED', exitCode: 2, facts: { folios: 3 } });
      for (const { id, chunk } of job.service.folios) {
        expect(error.message).toContain(id);
        expect(error.hint).toContain(`--chunk ${chunk} ${id}`);
      }
    });
  });

  it('in the database are in the journal, and the next run takes them up from there', async () => {
    await withJob({ behaviour, config }, async (job) => {
      const { settings, close } = await failWith(job, async () => breakUploads(job));
      changeDatabase(job, 'DROP TRIGGER full');
      await expectSuccess(job, await job.enrich(settings), all);
      await close();
      expect(job.service.folios).toHaveLength(6);
      expect(await job.output()).toBe(await unbrokenOutput());
    });
  });
});

/** From now on recording a folio in the database fails. */
function breakUploads(job: Job): void {
  const fail = "SELECT RAISE(ABORT, 'no room')";
  changeDatabase(job, `CREATE TRIGGER full BEFORE UPDATE ON uploads BEGIN ${fail}; END`);
}

function changeDatabase(job: Job, sql: string): void {
  const database = openSqlite(path.join(job.config().stateDir, 'checkpoint.db'));
  database.exec(sql);
  database.close();
}

async function journalOf(job: Job): Promise<string> {
  const runs = path.join(job.config().stateDir, 'runs');
  return path.join(runs, (await readdir(runs))[0]!, 'paid.log');
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command while a folder of its job is read-only. */
type WhileReadOnly = (
  folder: string,
  args: string[],
  env: Readonly<Record<string, string>>,
) => Promise<Ended>;

/** Mounts the folder read-only, in a mount namespace for this command alone. */
const mounted: WhileReadOnly = (folder, args, env) => {
  const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
  const script =
    'set -e; d=$1; shift; cp -a "$d" "$d.copy"; mount -t tmpfs none "$d"; cp -a "$d.copy/." "$d"; rm -r "$d.copy"; ' +
    'mount -o remount,bind,ro "$d"; exec "$@"';
  const command = ['-rm', 'sh', '-c', script, 'sh', folder, process.execPath, ...nodeFlags, cli, ...args];
  return new Promise((resolve) => {
    const child = execFile('unshare', command, { env: { ...process.env, ...env } }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    );
  });
};

const withoutRights: WhileReadOnly = async (folder, args, env) => {
  await chmod(folder, 0o500);
  return runCli(args, { env }).finally(() => chmod(folder, 0o700));
};

const replacedByFile: WhileReadOnly = async (folder, args, env) => {
  await rename(folder, `${folder}.aside`);
  await writeFile(folder, '');
  const end = await callMain(args, { env });
  await rm(folder);
  await rename(`${folder}.aside`, folder);
  return end;
};

const trial = 'mount -t tmpfs none /mnt && mount -o remount,bind,ro /mnt';
const mayMount = spawnSync('unshare', ['-rm', 'sh', '-c', trial]).status === 0;

/** Permission bits do not stop root, and only root may mount: the title says which way is used. */
function readOnlyWay(): { readonly title: string; readonly run: WhileReadOnly } {
  if (mayMount) return { title: 'on a read-only file system', run: mounted };
  if (process.getuid?.() !== 0) return { title: 'without the right to write', run: withoutRights };
  return { title: 'with a file in its place', run: replacedByFile };
}

const folder = useSharedFolder();
const readOnly = readOnlyWay();

describe(`a read-only folder, ${readOnly.title}`, () => {
  it.each([
    ['state', 'STATE_DIR_UNWRITABLE'],
    ['out', 'FOLDER_UNWRITABLE'],
  ])(
    '%s: is reported before anything more is paid, and the same command then goes on',
    async (name, code) => {
      const service = await openFakeService(behaviour);
      const job = await createJob(await folder(), { pipeline: name, baseUrl: service.url });
      const env = { ...job.env, FOLIOPIPE_TOKEN: service.token };
      const stop = { ...env, FOLIOPIPE_CRASH_AT: 'after-post-before-commit:2:term' };
      expect(await runCli(['run', job.config], { env: stop })).toMatchObject({ code: 143 });
      const bought = service.folios.length;

      const args = ['run', job.config, '--json'];
      const { code: exit, stdout, stderr } = await readOnly.run(path.join(job.folder, name), args, env);
      expect(exit, stderr).toBe(2);
      expect(jsonLines(stdout).at(-1)).toMatchObject({
        error: { code, facts: { path: expect.any(String) } },
      });
      expect(service.folios.length).toBe(bought);

      const end = await callMain(args, { env });
      expect(end.code, end.stderr).toBe(0);
      expect(jsonLines(end.stdout).at(-1)).toMatchObject({ uploads: { accepted: 6, ambiguous: 0 } });
      expect(service.folios.length).toBe(6);
      await service.close();
    },
  );

  it.runIf(readOnly.run === mounted)(
    'the state: commands that only read work, and a run says to make it writable again',
    async () => {
      const service = await openFakeService(behaviour);
      const job = await createJob(await folder(), { pipeline: 'reading', baseUrl: service.url });
      const env = { ...job.env, FOLIOPIPE_TOKEN: service.token };
      expect((await callMain(['run', job.config], { env })).code).toBe(0);
      const backup = ['state', 'backup', path.join(job.folder, 'backup')];
      for (const args of [['ledger'], ['status'], backup]) {
        const end = await readOnly.run(job.stateDir, [...args, job.config], env);
        expect(end.code, `${args.join(' ')}: ${end.stderr}`).toBe(0);
        if (args[0] === 'ledger')
          expect(end.stdout).toBe((await callMain([...args, job.config], { env })).stdout);
      }
      const refused = await readOnly.run(job.stateDir, ['run', '--new', '--yes', job.config], env);
      expect(refused.code).toBe(2);
      expect(refused.stderr).toMatch(/\[STATE_DIR_UNWRITABLE\]\n {2}next: let this user write there again/);
      await service.close();
    },
  );
});

describe.skipIf(!mayMount)('a disk that is full before the replies of uploads in flight', () => {
  it('has room for these replies: nothing is paid twice', async () => {
    const service = await openFakeService(behaviour);
    const settings = { concurrency: { uploads: 3 } };
    const job = await createJob(await folder(), { pipeline: 'full', baseUrl: service.url, settings });
    const filler = path.join(job.folder, 'state', 'filler');
    const preload = new URL('../../prove/crash/fill-disk-on-kill.js', import.meta.url);
    const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
    const script =
      'set -e; d=$1; filler=$2; preload=$3; shift 3; mkdir -p "$d"; mount -t tmpfs -o size=8m none "$d"; set +e; ' +
      'NODE_OPTIONS=--import=$preload "$@"; first=$?; test -e "$filler" || exit 99; ' +
      'dd if=/dev/zero of="$filler" bs=4096 oflag=append conv=notrunc 2>/dev/null; "$@"; echo "ends $first $?"; ' +
      'rm "$filler"; FOLIOPIPE_CRASH_AT= "$@"';
    const args = ['sh', path.join(job.folder, 'state'), filler, preload.href];
    const command = [
      '-rm',
      'sh',
      '-c',
      script,
      ...args,
      process.execPath,
      ...nodeFlags,
      cli,
      'run',
      job.config,
    ];
    const env = {
      ...process.env,
      ...job.env,
      FOLIOPIPE_TOKEN: service.token,
      FOLIOPIPE_CRASH_AT: 'after-post-before-commit:1:kill',
      PROVE_FILLER: filler,
    };
    const end = await new Promise<Ended>((resolve) => {
      const child = execFile('unshare', command, { env }, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      );
    });
    expect(end.code, end.stderr).toBe(0);
    expect(end.stdout).toContain('ends 5 5');
    expect(end.stderr).toContain('[DISK_FULL]');
    expect(end.stderr).not.toContain('FOLIO_NOT_RECORDED');
    expect(service.folios.length).toBe(6);
    await service.close();
  });
});

describe('a limit of the size of files', () => {
  const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
  /** Runs the command with a limit of so many blocks of 512 bytes. */
  const runLimited = (blocks: number, args: readonly string[], env = process.env): Promise<Ended> => {
    const words = [
      '-c',
      `ulimit -f ${blocks}; exec "$@"`,
      'sh',
      process.execPath,
      ...nodeFlags,
      cli,
      ...args,
    ];
    return new Promise((resolve) => {
      const child = execFile('sh', words, { env }, (_, stdout, stderr) =>
        resolve({ code: child.exitCode, stdout, stderr }),
      );
    });
  };

  it.each([16, 128, 400])('of %i blocks is told as one, and nothing is paid', async (blocks) => {
    const service = await openFakeService(behaviour);
    const job = await createJob(await folder(), { pipeline: `size-${blocks}`, baseUrl: service.url });
    const env = { ...process.env, ...job.env, FOLIOPIPE_TOKEN: service.token };
    const end = await runLimited(blocks, ['run', job.config], env);
    expect(end.stderr).toMatch(/\[FILE_SIZE_LIMIT\]\n {2}next: raise the limit \(ulimit -f\)/);
    expect(end.code).toBe(2);
    expect(service.folios).toEqual([]);
    await service.close();
  });

  it('that a checkpoint of an older version would exceed is no damage that recover mends', async () => {
    await withStateFixture('version-1-mid-run', async (at) => {
      const file = path.join(at, 'state/checkpoint.db');
      const database = openSqlite(file);
      database.exec('CREATE TABLE filler AS SELECT zeroblob(1000000)');
      database.close();
      const blocks = Math.ceil(((await stat(file)).size + 8192) / 512);
      const end = await runLimited(blocks, ['recover', '--dry-run', '-c', path.join(at, 'foliopipe.yaml')]);
      expect(end.stderr).toContain('[FILE_SIZE_LIMIT]');
      expect(end.stdout).toBe('');
      expect(end.code).toBe(2);
    });
  });
});

describe('a clock', () => {
  const skewed = (skew: () => number): Clock => ({
    now: () => systemClock.now() + skew(),
    sleep: (time, signal) => {
      expect(time).toBeGreaterThanOrEqual(0);
      return systemClock.sleep(time, signal);
    },
  });
  const day = 86_400_000;

  it.each([-day, day])('set by %i ms between two processes changes only the recorded times', async (skew) => {
    await withJob({ behaviour }, async (job) => {
      await interrupt(job, { ...stopAt('after-finished-before-download', 2), clock: systemClock });
      const messages: string[] = [];
      const info = (_: object, text: string) => void messages.push(text);
      const logger = { debug: () => undefined, info, warn: info, error: info };
      const clock = skewed(() => skew);
      const summary = await job.enrich({}, { clock, logger, deadline: clock.now() + 60_000 });
      await expectSuccess(job, summary, all);
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(messages.join('\n')).toMatch(skew < 0 ? /continuing run \S+ of 0s ago/ : /of 1d ago/);
      expect(Math.sign(summary.finishedAt! - summary.createdAt)).toBe(Math.sign(skew));
      expect(await job.enrich()).toMatchObject({ found: 'done', run: summary.run });
    });
  });

  it('set back again and again in one process delays no poll, deadline or summary', async () => {
    await withJob({ behaviour }, async (job) => {
      let hours = 0;
      const clock = skewed(() => --hours * 3_600_000);
      const deadline = clock.now() + 60_000;
      await expectSuccess(job, await job.enrich({}, { clock, deadline }), all);
      await expectEnriched(job);
    });
  });
});
