/** Places where no output can be: refused before anything is paid, and left again without paying twice. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  type FoliopipeError,
  hintOf,
  loadConfig,
  openRun,
  planRun,
  publish,
} from '../../../pipelines/index.js';
import { silentLogger } from '../../../src/logger.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import {
  type Changes,
  expectEnriched,
  expectSuccess,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, nodeFlags, spawnCli } from '../../helpers/processes/cli.js';

const folder = useSharedFolder();

describe('a place where no output can be', () => {
  it.each<[string, string, Changes, (job: Job) => Promise<unknown>]>([
    ['a folder', 'OUTPUT_IS_FOLDER', {}, (job) => mkdir(job.outputPath)],
    ['a link', 'OUTPUT_NOT_A_FILE', {}, (job) => symlink(job.sourcePath, job.outputPath)],
    ['a device', 'OUTPUT_NOT_A_FILE', { output: { path: '/dev/null' } }, async () => undefined],
    [
      'a folder where the manifest goes',
      'OUTPUT_IS_FOLDER',
      {},
      (job) => mkdir(`${job.outputPath}.manifest.json`),
    ],
    ['a folder where the marker goes', 'OUTPUT_IS_FOLDER', {}, (job) => mkdir(`${job.outputPath}._SUCCESS`)],
    [
      'too long a name',
      'OUTPUT_NAME_TOO_LONG',
      { output: { path: `out/${'n'.repeat(230)}` } },
      async () => undefined,
    ],
    [
      'a folder below a file',
      'FOLDER_UNWRITABLE',
      { output: { path: 'source.csv/out/x.csv' } },
      async () => undefined,
    ],
    [
      'within the pattern of the source',
      'OUTPUT_IN_SOURCE',
      { source: { path: '*.csv' }, output: { path: 'x.csv' } },
      async () => undefined,
    ],
    [
      'with rejects within the pattern of the source',
      'OUTPUT_IN_SOURCE',
      { source: { path: '*.csv' }, output: { path: 'x.tsv' } },
      async () => undefined,
    ],
    [
      'with a state within the pattern of the source',
      'STATE_IN_SOURCE',
      { source: { path: '{source.csv,.foliopipe/**/*.csv}' } },
      async () => undefined,
    ],
    [
      'with a report over a file that foliopipe has not written',
      'REPORT_PLACE_TAKEN',
      { report: { html: 'out/mine.html' } },
      async (job) => {
        await mkdir(path.dirname(job.outputPath), { recursive: true });
        writeFileSync(path.join(path.dirname(job.outputPath), 'mine.html'), 'mine');
      },
    ],
    [
      'with a report within the pattern of the source',
      'OUTPUT_IN_SOURCE',
      { source: { path: '{source.csv,*.html}' }, report: { html: 'r.html' } },
      async () => undefined,
    ],
  ])('%s is refused before anything is paid', async (_, code, changes, put) => {
    await withJob({ behaviour }, async (job) => {
      await put(job);
      const before = await readdir(path.join(job.folder, 'out'));
      const signal = new AbortController().signal;
      const planned = await planRun(job.config(changes), { signal }).catch((thrown: unknown) => thrown);
      for (const error of [planned, await job.failure(changes)]) {
        expect(error).toMatchObject({ code, exitCode: 2 });
        expect(hintOf(error as FoliopipeError)).toMatch(/./);
      }
      expect(job.service.seen).toEqual([]);
      expect(await readdir(path.join(job.folder, 'out'))).toEqual(before);
    });
  });

  it('leaves nothing behind when a plan is made, and nothing but the output after a run', async () => {
    await withJob({ behaviour }, async (job) => {
      const output = { path: 'new/folder/enriched.csv' };
      await planRun(job.config({ output }), { signal: new AbortController().signal });
      expect(await readdir(job.folder)).not.toContain('new');
      await job.enrich({ output });
      const names = await readdir(path.join(job.folder, 'new', 'folder'));
      expect(names.sort()).toEqual(['enriched.csv', 'enriched.csv._SUCCESS', 'enriched.csv.manifest.json']);
    });
  });
});

describe('a place that is taken after all was paid', () => {
  const taken = { code: 'OUTPUT_IS_FOLDER', exitCode: 2, hint: expect.stringContaining('same command') };

  it('at the last moment is told, and the same command goes on when it is free', async () => {
    await withJob({ behaviour }, async (job) => {
      const at = (point: string) => {
        if (point === 'after-publishing-before-rename') mkdirSync(job.outputPath);
      };
      expect(await job.failure({}, { at })).toMatchObject({
        code: 'OUTPUT_NOT_REPLACED',
        exitCode: 2,
        facts: { path: job.outputPath, reason: 'EISDIR' },
        hint: expect.stringContaining('nothing is paid again'),
      });
      const uploads = job.service.count('upload');
      expect(await job.failure()).toMatchObject({ ...taken, hint: expect.stringMatching(/./) });
      await rm(job.outputPath, { recursive: true });
      await expectSuccess(job, await job.enrich(), all);
      expect(await job.output()).toBe(await unbrokenOutput());
      expect(job.service.count('upload')).toBe(uploads);
    });
  });

  it('can be left: publish writes the answers somewhere else, without paying', async () => {
    await withJob({ behaviour }, async (job) => {
      const at = throwAt('after-last-merge-before-publishing');
      expect(await job.failure({}, { at })).toMatchObject({ message: 'killed' });
      const uploads = job.service.count('upload');
      await mkdir(`${job.outputPath}.manifest.json`);
      expect(await job.failure()).toMatchObject(taken);
      const elsewhere = { output: { path: 'elsewhere/enriched.csv' } };
      const frozen = (await job.failure(elsewhere)) as { readonly hint: string };
      const [, run] = /foliopipe publish (\S+) writes them .* pays nothing/.exec(frozen.hint)!;
      expect(await publish(job.config(elsewhere), run!)).toMatchObject({ exitCode: 0, run });
      expect(await readdir(path.join(job.folder, 'elsewhere'))).toContain('enriched.csv._SUCCESS');
      expect(job.service.count('upload')).toBe(uploads);
    });
  });
});

describe('the files of a lock', () => {
  it.each<[string, (job: Job) => void]>([
    ['of the output', (job) => replaceByFolder(lockOf(job, '.json'))],
    [
      'of the pipeline',
      (job) => replaceByFolder(path.join(job.folder, '.foliopipe/locks/hostile.holder.json')),
    ],
    [
      'of the pipeline, with their folder',
      (job) => {
        rmSync(path.join(job.folder, '.foliopipe/locks'), { recursive: true });
        writeFileSync(path.join(job.folder, '.foliopipe/locks'), '');
      },
    ],
  ])('%s that cannot be removed are told, and the run is done', async (_, break_) => {
    await withJob({ behaviour }, async (job) => {
      const warnings: string[] = [];
      const at = (point: string) => {
        if (point === 'after-marker-before-done') break_(job);
      };
      const warn = (_fields: object, message: string) => void warnings.push(message);
      const summary = await job.enrich({}, { at, logger: { ...silentLogger, warn } });
      expect(summary).toMatchObject({ exitCode: 0 });
      expect(warnings).toContainEqual(expect.stringMatching(/^the lock is free, but its files cannot be/));
    });
  });

  it('that are removed while a run works are made again, and removed with it', async () => {
    await withJob({ behaviour }, async (job) => {
      const seen: boolean[] = [];
      const at = (point: string) => {
        if (point === 'after-last-merge-before-publishing') rmSync(lockOf(job, ''));
        if (point === 'after-rename-before-manifest') seen.push(existsSync(lockOf(job, '')));
      };
      await expectSuccess(job, await job.enrich({}, { at }), all);
      expect(seen).toEqual([true]);
      expect((await job.published()).filter((name) => name.startsWith('.'))).toEqual([]);
    });
  });
});

function lockOf(job: Job, end: string): string {
  return path.join(job.folder, `out/.enriched.csv.foliopipe-lock${end}`);
}

function replaceByFolder(name: string): void {
  rmSync(name);
  mkdirSync(name);
}

describe('two pipelines with one output', () => {
  it.each(['after-last-merge-before-publishing', 'after-publishing-before-rename'])(
    'do not replace each other: what another has published is found %s',
    async (when) => {
      await withJob({ behaviour }, async (job) => {
        const manifest = `${job.outputPath}.manifest.json`;
        const at = (point: string) => {
          if (point !== when) return;
          writeFileSync(job.outputPath, 'of another');
          writeFileSync(`${job.outputPath}._SUCCESS`, 'of another');
          writeFileSync(manifest, JSON.stringify({ pipeline: 'another' }, null, 2));
        };
        expect(await job.failure({}, { at })).toMatchObject({
          code: 'OUTPUT_OF_OTHER_PIPELINE',
          exitCode: 2,
          facts: { pipeline: 'another' },
        });
        expect(await job.output()).toBe('of another');
        expect(await job.published()).toContain('enriched.csv._SUCCESS');
        const uploads = job.service.count('upload');
        for (const name of [manifest, job.outputPath]) await rm(name);
        await expectSuccess(job, await job.enrich(), all);
        expect(job.service.count('upload')).toBe(uploads);
      });
    },
  );

  it('exclude each other in one process, which is named as the one that holds the output', async () => {
    const service = await openFakeService(behaviour);
    const output = { path: path.join(await folder(), 'shared.csv') };
    const configs = await Promise.all(
      ['one', 'other'].map(async (pipeline) => {
        const options = { pipeline, baseUrl: service.url, settings: { output } };
        const job = await createJob(await folder(), options);
        const env = { ...job.env, FOLIOPIPE_TOKEN: service.token };
        return loadConfig({ files: [job.config], env, overrides: [], cwd: job.folder });
      }),
    );
    const run = await openRun(configs[0]!);
    await expect(openRun(configs[1]!)).rejects.toMatchObject({
      code: 'OUTPUT_LOCKED',
      message: expect.stringMatching(/^this process, \d+ \(foliopipe, pipeline one\), has been writing /),
      hint: expect.stringMatching(/^close the run that this process has open/),
      facts: { pid: process.pid, here: true },
    });
    await run.close();
    await (await openRun(configs[1]!)).close();
    await service.close();
  });

  it('exclude each other although the lock was removed: one publishes, and the other says why not', async () => {
    let isReady = false;
    const service = await openFakeService({
      ...behaviour,
      finishedAtPoll: () => (isReady ? 1 : 1_000_000),
    });
    const [first, second] = await Promise.all(
      ['loser', 'winner'].map(async (pipeline) =>
        createJob(await folder(), { pipeline, baseUrl: service.url }),
      ),
    );
    const env = { ...first!.env, FOLIOPIPE_TOKEN: service.token };
    const out = path.dirname(first!.output);
    await mkdir(out);
    await symlink(out, path.dirname(second!.output));
    const begin = async (config: string) => {
      const running = spawnCli(['run', config, '--json', '--log-level', 'debug'], { env });
      await running.waitFor('stderr', /submitted as folio/);
      return running;
    };
    const one = await begin(first!.config);
    await rm(path.join(out, `.${path.basename(first!.output)}.foliopipe-lock`));
    const other = await begin(second!.config);
    isReady = true;
    const [lost, won] = await Promise.all([one.ended, other.ended]);
    expect(won.code, won.stderr).toBe(0);
    expect(lost.stdout).toMatch(/OUTPUT_LOCKED|OUTPUT_OF_OTHER_PIPELINE/);
    const published = JSON.parse(await readFile(`${first!.output}.manifest.json`, 'utf8'));
    expect(published.pipeline).toBe('winner');
    await service.close();
  });

  it('exclude each other by link and with states of their own, until the first ends or is killed', async () => {
    const service = await openFakeService({ ...behaviour, finishedAtPoll: () => 1_000_000 });
    const [first, second] = await Promise.all(
      ['first', 'second'].map(async (pipeline) =>
        createJob(await folder(), { pipeline, baseUrl: service.url }),
      ),
    );
    const env = { ...first!.env, FOLIOPIPE_TOKEN: service.token };
    await mkdir(path.dirname(first!.output));
    await symlink(path.dirname(first!.output), path.dirname(second!.output));
    const running = spawnCli(['run', first!.config, '--log-format', 'json', '--log-level', 'debug'], { env });
    await running.waitFor('stderr', /submitted as folio/);
    const bought = () => service.folios.filter(({ fileName }) => fileName.startsWith('second-')).length;

    const args = ['submit', second!.config, '--json'];
    const refused = await callMain(args, { env });
    expect(refused.code, refused.stderr).toBe(11);
    expect(jsonLines(refused.stdout).at(-1)).toMatchObject({
      error: { code: 'OUTPUT_LOCKED', facts: { pid: running.pid, command: expect.stringMatching(/first/) } },
    });
    expect(bought()).toBe(0);

    running.kill('SIGKILL');
    await running.ended;
    const end = await callMain(args, { env });
    expect(end.code, end.stderr).toBe(0);
    expect(bought()).toBe(6);
    const left = await readdir(path.dirname(first!.output));
    expect(left.filter((name) => !name.endsWith('.partial'))).toEqual([]);
    await service.close();
  });
});

/** As root without its right to read everything; the program's own files stay readable. */
const BOUND = ['--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-dac_override,-dac_read_search'];
const mayBind = process.getuid?.() === 0 && spawnSync('setpriv', [...BOUND, 'true']).status === 0;

it.runIf(mayBind)('a folder that cannot be read is refused, and nothing is sent', async () => {
  const service = await openFakeService(behaviour);
  const job = await createJob(await folder(), { pipeline: 'unread', baseUrl: service.url });
  const out = path.dirname(job.output);
  await mkdir(out);
  await chmod(out, 0o333);
  const env = { ...process.env, ...job.env, FOLIOPIPE_TOKEN: service.token };
  const command = [process.execPath, ...nodeFlags, 'dist/bundle/cli.js', 'plan', job.config, '--json'];
  const refused = spawnSync('setpriv', [...BOUND, ...command], { timeout: 20_000, env });
  expect(jsonLines(String(refused.stdout)).at(-1)).toMatchObject({
    error: { code: 'FOLDER_UNWRITABLE', message: expect.stringContaining(`may not read ${out} (EACCES)`) },
  });
  expect(refused.status).toBe(2);
  expect(service.seen).toEqual([]);
  await service.close();
});

it.runIf(mayBind)('a state that this user may not enter is not replaced by another one', async () => {
  const service = await openFakeService(behaviour);
  const job = await createJob(await folder(), { pipeline: 'hidden', baseUrl: service.url });
  await mkdir(job.stateDir);
  writeFileSync(path.join(job.stateDir, 'checkpoint.db'), '');
  await chmod(job.stateDir, 0);
  const env = { ...process.env, ...job.env, FOLIOPIPE_TOKEN: service.token };
  const type = (...words: string[]) => {
    const command = [process.execPath, ...nodeFlags, 'dist/bundle/cli.js', ...words, job.config, '--json'];
    const ended = spawnSync('setpriv', [...BOUND, ...command], { timeout: 20_000, env });
    return jsonLines(String(ended.stdout)).at(-1)!.error as { code: string; message: string; hint: string };
  };
  const refused = type('run');
  expect(refused.code).toBe('STATE_DIR_UNWRITABLE');
  expect(refused.hint).toMatch(/^let this user enter that folder and write there/);
  expect(type('status')).toMatchObject({
    code: 'FILE_UNREADABLE',
    message: expect.stringContaining(`cannot read ${path.join(job.stateDir, 'copy.json')} (EACCES)`),
  });
  expect(service.seen).toEqual([]);
  await chmod(job.stateDir, 0o700);
  await service.close();
});

const mayMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;

it.runIf(mayMount)(
  'a disk that is too small for the output is told in figures, and nothing is sent',
  async () => {
    const service = await openFakeService(behaviour);
    const job = await createJob(await folder(), { pipeline: 'small', baseUrl: service.url, records: 600 });
    const out = path.dirname(job.output);
    await mkdir(out);
    const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));
    const small = 'mount -t tmpfs -o size=32k none "$1"; shift; exec "$@"';
    const run = (...more: string[]) =>
      new Promise<{ code: number | null; stdout: string }>((resolve) => {
        const command = [
          '-rm',
          'sh',
          '-c',
          small,
          'sh',
          out,
          process.execPath,
          ...nodeFlags,
          cli,
          'run',
          job.config,
          '--json',
        ];
        const child = spawn('unshare', [...command, ...more], {
          env: { ...process.env, ...job.env, FOLIOPIPE_TOKEN: service.token },
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        let stdout = '';
        child.stdout.setEncoding('utf8').on('data', (text: string) => {
          stdout += text;
        });
        child.once('close', (code) => resolve({ code, stdout }));
      });
    const { code, stdout } = await run();
    expect(code).toBe(5);
    expect(jsonLines(stdout).at(-1)).toMatchObject({
      error: {
        code: 'DISK_TOO_SMALL',
        message: expect.stringMatching(/\/out has [\d.]+ KB free, .* about [\d.]+ KB there for its output$/),
      },
    });
    expect(service.seen).toEqual([]);

    // The estimate is passed, and the disk is as small as it says.
    const passed = await run('--yes');
    expect(jsonLines(passed.stdout).at(-1)).toMatchObject({ error: { code: 'DISK_FULL' } });
    const end = await callMain(['run', job.config], { env: { ...job.env, FOLIOPIPE_TOKEN: service.token } });
    expect(end.code, end.stderr).toBe(0);
    expect(service.folios.length).toBe(60);
    await service.close();
  },
);

it('a run whose folder is reached by a link is published through it', async () => {
  await withJob({ behaviour }, async (job) => {
    await symlink(path.join(job.folder, 'out'), path.join(job.folder, 'link'));
    await job.enrich();
    const output = { path: 'link/enriched.csv' };
    await expectSuccess(job, await job.enrich({ output }, { fresh: true }), all);
    await expectEnriched(job);
  });
});
