/** Files that a publication would replace by mistake: refused before anything is paid. */
import { link, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig, planRun, publish } from '../../../pipelines/index.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { type Changes, expectSuccess, type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { all, behaviour } from '../../helpers/jobs/interrupted-job.js';
import { callMain } from '../../helpers/processes/call-main.js';

const folder = useSharedFolder();
const signal = new AbortController().signal;

describe('a file that foliopipe needs', () => {
  const token = { service: { token: null, tokenFile: 'out/token.txt' } };
  it.each<[string, string, Changes, (job: Job) => Promise<unknown>]>([
    ['the token file', 'OUTPUT_IS_OWN_FILE', { ...token, output: { path: 'out/token.txt' } }, writeToken],
    [
      'the token file, under another name',
      'OUTPUT_IS_OWN_FILE',
      { ...token, output: { path: 'out/other.csv' } },
      async (job) => {
        await writeToken(job);
        await link(
          path.join(job.folder, 'out/token.txt'),
          path.join(job.folder, 'out/other.csv.rejects.csv'),
        );
      },
    ],
    [
      'within the state, by a link',
      'OUTPUT_IN_STATE',
      { output: { path: 'link/enriched.csv' } },
      async (job) => {
        await mkdir(path.join(job.folder, '.foliopipe'), { mode: 0o700 });
        await symlink('.foliopipe', path.join(job.folder, 'link'));
      },
    ],
  ])('%s is not replaced', async (_, code, changes, put) => {
    await withJob({ behaviour }, async (job) => {
      await put(job);
      const refused = { code, exitCode: 2, hint: expect.stringMatching(/./) };
      await expect(planRun(job.config(changes), { signal })).rejects.toMatchObject(refused);
      expect(await job.failure(changes)).toMatchObject(refused);
      expect(job.service.seen).toEqual([]);
    });
  });

  it.each(['config', 'log'] as const)('the %s is not replaced, under another name either', async (which) => {
    const job = await createJob(path.join(await folder(), which));
    const config = path.join(job.folder, 'link.yaml');
    await link(job.config, config);
    const log = path.join(job.folder, 'run.log');
    const output = which === 'config' ? config : log;
    const before = await readFile(job.config);
    const args = ['-c', job.config, '--output', output, '--log-file', log];
    for (const command of ['run', 'plan']) {
      const { code, stderr } = await callMain([command, ...args], { env: job.env });
      expect(code, stderr).toBe(2);
      expect(stderr).toContain('is a file that foliopipe needs itself');
    }
    expect(await readFile(job.config)).toEqual(before);
  });

  it('is known where the token is not read', async () => {
    const job = await createJob(path.join(await folder(), 'unread'), {
      settings: { service: { token: null, tokenFile: 'token.txt' } },
    });
    const load = { files: [job.config], env: job.env, overrides: [], cwd: '/', needs: 'nothing' } as const;
    expect((await loadConfig(load)).ownFiles).toEqual([job.config, path.join(job.folder, 'token.txt')]);
  });
});

describe('a file at output.path that is no publication', () => {
  it('is not replaced before a person says so', async () => {
    await withJob({ behaviour }, async (job) => {
      await writeFile(job.outputPath, 'of somebody else\n');
      const refused = { code: 'OUTPUT_FOREIGN', exitCode: 2, hint: expect.stringContaining('--yes') };
      await expect(planRun(job.config(), { signal })).rejects.toMatchObject(refused);
      expect(await job.failure()).toMatchObject(refused);
      expect(await job.output()).toBe('of somebody else\n');
      expect(job.service.seen).toEqual([]);
      await expectSuccess(job, await job.enrich({}, { yes: true }), all);
    });
  });

  it('may be empty', async () => {
    await withJob({ behaviour }, async (job) => {
      await writeFile(job.outputPath, '');
      await expectSuccess(job, await job.enrich(), all);
    });
  });

  it('is replaced by the next night if only the manifest of the last one is gone', async () => {
    await withJob({ behaviour }, async (job) => {
      await job.enrich();
      await rm(`${job.outputPath}.manifest.json`);
      await writeFile(job.outputPath, 'changed by its reader\n');
      expect(await planRun(job.config(), { signal, fresh: true })).toMatchObject({ next: { kind: 'begin' } });
      await expectSuccess(job, await job.enrich({}, { fresh: true }), all);
    });
  });

  it('is not replaced by publish either', async () => {
    await withJob({ behaviour }, async (job) => {
      const { run } = await job.enrich();
      const other = path.join(job.folder, 'other.csv');
      await writeFile(other, 'of somebody else\n');
      const config = job.config({ output: { path: 'other.csv' } });
      await expect(publish(config, run)).rejects.toMatchObject({ code: 'OUTPUT_FOREIGN', exitCode: 2 });
      expect(await readFile(other, 'utf8')).toBe('of somebody else\n');
      await rm(other);
      expect(await publish(config, run)).toMatchObject({ exitCode: 0 });
    });
  });
});

async function writeToken(job: Job): Promise<void> {
  await writeFile(path.join(job.folder, 'out/token.txt'), job.service.token);
}
