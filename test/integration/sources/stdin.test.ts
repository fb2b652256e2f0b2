/** `source.path: "-"`: standard input is copied once, and a run goes on only with the same content. */
import { createReadStream } from 'node:fs';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { prune, publish, retry } from '../../../pipelines/index.js';
import { expectEnriched, expectSuccess } from '../../helpers/jobs/fake-service-job.js';
import { all, stopAt, unbrokenOutput } from '../../helpers/jobs/interrupted-job.js';
import { sourceText } from '../../helpers/jobs/sample-source.js';
import { type SpooledJob, withSpooledJob } from '../../helpers/jobs/spooled-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines, killCliAt, runCli, spawnCli } from '../../helpers/processes/cli.js';

const night = sourceText(60);
const given = (text: string | Uint8Array, ...rest: string[]) => ({ stdin: Readable.from([text, ...rest]) });
const withStdin = (use: (job: SpooledJob) => Promise<void>, config = {}) =>
  withSpooledJob({ path: '-' }, use, config);

describe('in the library', () => {
  it('is copied with the rights of its owner alone, and enriched as a file is', async () => {
    await withStdin(async (job) => {
      const half = night.length >> 1;
      const summary = await job.enrich({}, given(night.slice(0, half), night.slice(half)));
      await expectSuccess(job, summary, all);
      await expectEnriched(job);
      expect(await job.output()).toBe(await unbrokenOutput());
      expect((await job.manifest()) as unknown).toMatchObject({ source: [{ path: 'stdin', records: 60 }] });
      const [copy, ...others] = await job.spooled();
      expect(others).toEqual([]);
      const path = join(job.folder, '.foliopipe', 'spool', copy!);
      expect(await readFile(path, 'utf8')).toBe(night);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect((await stat(join(path, '..'))).mode & 0o777).toBe(0o700);
    });
  });

  it('that fails before it is read is an error of the source', async () => {
    await withStdin(async (job) => {
      const stdin = createReadStream(join(job.folder, 'nowhere.csv'));
      expect(await job.failure({}, { stdin })).toMatchObject({ exitCode: 4, code: 'SOURCE_MISSING' });
    });
  });

  it('goes on with the same content; another one is refused with both ways out, or supersedes', async () => {
    await withStdin(async (job) => {
      await job.failure({}, { ...stopAt('after-accepted-before-poll', 3), ...given(night) });
      const other = sourceText(70);
      const error = (await job.failure({}, given(other))) as { readonly hint: string };
      expect(error).toMatchObject({ exitCode: 4, code: 'SOURCE_CHANGED' });
      expect(error.hint).toMatch(/^give the old content again to finish run .*supersede.*--new --yes/);
      const uploads = job.service.count('upload');
      expect(await job.enrich({}, given(night))).toMatchObject({ found: 'continued', counts: { read: 60 } });
      expect(job.service.count('upload') - uploads).toBeLessThanOrEqual(6 - uploads);
      expect(await job.output()).toBe(await unbrokenOutput());
      // The copy of the refused content is gone.
      expect(await job.spooled()).toHaveLength(1);
    });
    await withStdin(async (job) => {
      await job.failure({}, { ...stopAt('after-accepted-before-poll', 3), ...given(night) });
      const summary = await job.enrich({ source: { onChange: 'supersede' } }, given(sourceText(70)));
      expect(summary).toMatchObject({ found: 'new', counts: { read: 70 } });
      expect((await job.runs()).map(({ state }) => state)).toEqual(['done', 'superseded']);
      expect(await job.spooled()).toHaveLength(1);
    });
  });

  it('is asked for by its name when a done run is published with a file as the source', async () => {
    await withStdin(async (job) => {
      const { run } = await job.enrich({}, given(night));
      const path = join(job.folder, 'other.csv');
      await writeFile(path, sourceText(70));
      const error = await publish(job.config({ source: { path } }), run).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({
        code: 'SOURCE_CHANGED',
        message: expect.stringMatching(/other\.csv": .* now; the run has read "stdin": [\d.,]+ K?B$/m),
        hint: expect.stringContaining('add --source -'),
      });
    });
  });

  it('that is done is not paid again, and is published again and retried from the copy', async () => {
    await withStdin(async (job) => {
      const { run } = await job.enrich({}, given(night));
      const paid = job.service.count('upload');
      expect(await job.enrich({}, given(night))).toMatchObject({ found: 'done', run });
      const output = await job.output();
      await rm(job.outputPath);
      expect(await publish(job.config(), run)).toMatchObject({ run });
      expect(await job.output()).toBe(output);
      expect(job.service.count('upload')).toBe(paid);
      expect(await retry(job.config(), run)).toMatchObject({ run, exitCode: 0 });
      expect(job.service.count('upload')).toBe(paid + 1);
    });
  });

  it('is kept for the last run until that is pruned, and is said to be gone then', async () => {
    await withStdin(async (job) => {
      const first = await job.enrich({}, given(sourceText(10)));
      const last = await job.enrich({}, given(night));
      expect(await job.spooled()).toHaveLength(1);
      await rm(job.outputPath);
      await expect(publish(job.config(), first.run)).rejects.toMatchObject({
        code: 'SOURCE_COPY_GONE',
        exitCode: 4,
        hint: expect.stringContaining('give the same input to foliopipe run'),
      });
      // As the hint says.
      expect(await job.enrich({}, given(sourceText(10)))).toMatchObject({ found: 'done', run: first.run });
      expect(await job.spooled()).toHaveLength(2);
      await prune(job.config(), { olderThan: 0 });
      expect(await job.spooled()).toEqual([]);
      expect(last.run).not.toBe(first.run);
    });
  });

  it('is kept for a run that was published again after a newer one, when the next content is refused', async () => {
    await withStdin(async (job) => {
      const { run } = await job.enrich({}, given(night));
      await job.enrich({}, given(sourceText(70)));
      expect(await job.enrich({}, given(night))).toMatchObject({ run, publication: 3 });
      expect(await job.failure({}, given('refused\n1\n'))).toMatchObject({ code: 'CONFIG_COLUMN_MISSING' });
      expect(await publish(job.config(), 'last')).toMatchObject({ run, publication: 4 });
    });
  });

  it('may be gzipped', async () => {
    await withStdin(async (job) => {
      await job.enrich({}, given(gzipSync(night)));
      await expectEnriched(job);
    });
  });

  it.each<[string, object, object]>([
    [
      'empty',
      given(''),
      { code: 'SOURCE_EMPTY', exitCode: 4, message: expect.stringContaining('closed or empty') },
    ],
    [
      'a terminal',
      { stdin: Object.assign(Readable.from(['x']), { isTTY: true }) },
      { code: 'SOURCE_STDIN_TERMINAL', exitCode: 4, hint: expect.stringContaining('< FILE') },
    ],
    ['not given', {}, { code: 'SOURCE_STDIN_MISSING', exitCode: 2 }],
    [
      'broken',
      {
        stdin: Readable.from(
          (async function* () {
            yield 'a,b\n';
            throw new Error('the pipe broke');
          })(),
        ),
      },
      { code: 'SOURCE_UNREADABLE', exitCode: 4, message: 'stdin: the pipe broke' },
    ],
  ])('that is %s is an error, and leaves nothing', async (_, options, expected) => {
    await withStdin(async (job) => {
      expect(await job.failure({}, options)).toMatchObject(expected);
      expect(await job.spooled()).toEqual([]);
      expect(job.service.seen).toEqual([]);
    });
  });
});

/** Gives its text, and then nothing, for as long as its reader lives. */
async function* unending(text: string): AsyncGenerator<string> {
  yield text;
  await new Promise(() => undefined);
}

describe('on the command line', () => {
  it.each(['after-spool-piece-before-next', 'after-spool-before-check', 'after-choice-before-run'])(
    'is copied again after a kill %s, and nothing half stays',
    async (point) => {
      await withStdin(
        async (job) => {
          // Three pieces, because a pipe takes 64 KB at once.
          const large = `${night}${'\n'.repeat(200_000)}`;
          const armed = point.includes('piece') ? `${point}:2` : point;
          await killCliAt(armed, ['run', job.file], { input: [large] });
          expect(await job.spooled()).toHaveLength(1);
          expect((await job.spooled())[0]!.endsWith('.tmp')).toBe(point.includes('piece'));
          const end = await runCli(['run', job.file, '--json'], { input: [night] });
          expect(end, end.stderr).toMatchObject({ code: 0 });
          expect(await job.output()).toBe(await unbrokenOutput());
          expect(await job.spooled()).toHaveLength(1);
          expect(job.service.count('upload')).toBe(6);
        },
        { reuse: { maxAge: '30d' } },
      );
    },
  );

  it('is taken by --source -, and a signal ends the wait for it', async () => {
    await withSpooledJob({ path: 'source.csv' }, async (job) => {
      const waiting = spawnCli(['run', job.file, '--source', '-'], { input: unending(night) });
      const folder = join(job.folder, '.foliopipe', 'spool', 'hostile.d');
      await expect
        .poll(() => readdir(folder).catch(() => []))
        .toEqual([expect.stringMatching(/^new\.\w+\.csv\.tmp$/)]);
      waiting.kill('SIGTERM');
      expect((await waiting.ended).code).toBe(143);
      expect(await job.spooled()).toEqual([]);
      const submitted = await runCli(['submit', job.file, '--source', '-'], { input: [night] });
      expect(submitted, submitted.stderr).toMatchObject({ code: 0 });
      // What is bought is collected without another look at standard input.
      const end = await callMain(['collect', job.file, '--source', '-', '--json']);
      expect(jsonLines(end.stdout).at(-1)).toMatchObject({ exitCode: 0, counts: { read: 60 } });
    });
  });

  it('is read by plan, which leaves nothing, and not by check', async () => {
    await withStdin(async (job) => {
      const plan = await runCli(['plan', job.file], { input: [night] });
      expect(plan, plan.stderr).toMatchObject({ code: 0 });
      expect(plan.stdout).toMatch(/ {2}stdin: 60 records/);
      expect(plan.stdout).toContain('foliopipe run reads the source again');
      expect(await readdir(job.folder)).not.toContain('.foliopipe');
      const check = await runCli(['check', job.file], { input: unending('') });
      expect(check, check.stdout).toMatchObject({ code: 0 });
      expect(check.stdout).toContain(
        '??    source: check does not read standard input; foliopipe run, submit and plan do',
      );
      const rehearsed = await runCli(['run', job.file, '--rehearse'], { input: [night] });
      expect(rehearsed, rehearsed.stderr).toMatchObject({ code: 2 });
      expect((await runCli(['run', job.file])).stderr).toContain('SOURCE_EMPTY');
    });
  });
});
