/** A real terminal (by `script`), closed while uploads are in flight; without one, signals.test.ts closes pipes. */
import { spawn, spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe } from '../../helpers/service/serve.js';
import { openUploadProxy } from '../../helpers/service/upload-proxy.js';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const folder = useSharedFolder();
const hasTerminals = spawnSync('script', ['-qec', 'exit 7', '/dev/null'], { stdio: 'ignore' }).status === 7;

it.runIf(hasTerminals)(
  'a closed terminal ends with 143, and the uploads in flight are recorded',
  async () => {
    const serve = await openServe(join(await folder(), 'service'));
    const proxy = await openUploadProxy(serve.url);
    const settings = { concurrency: { uploads: 2 } };
    const job = await createJob(await folder(), { pipeline: 'terminal', baseUrl: proxy.url, settings });
    const [end, log] = [join(job.folder, 'end.json'), join(job.folder, 'run.log')];
    const child = [pathOf('../../helpers/processes/terminal-child.mjs'), end];
    const words = [...child, pathOf('../../../dist/bundle/cli.js'), 'run', job.config, '--log-file', log];
    const line = `exec ${[process.execPath, ...words].map((word) => `'${word}'`).join(' ')}`;
    const terminal = spawn('script', ['-qec', line, '/dev/null'], {
      env: { PATH: process.env.PATH, ...job.env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      let shown = '';
      terminal.stdout.on('data', (text: Buffer) => {
        shown += text;
      });
      await proxy.accepted(2);
      // The status line is only shown in a terminal.
      await expect.poll(() => shown).toContain('2 uploading');
      terminal.kill('SIGKILL');
      await expect.poll(() => readFile(log, 'utf8')).toContain('SIGHUP: stopping');
      proxy.release();
      const ended = async () => JSON.parse(await readFile(end, 'utf8')) as object;
      await expect.poll(ended).toEqual({ code: 143, signal: null });
    } finally {
      terminal.kill('SIGKILL');
    }
    const { stdout } = await callMain(['status', job.config, '--json'], { env: job.env });
    expect(jsonLines(stdout).at(-1)).toMatchObject({
      chunks: { byState: { submitted: 2, uploading: 0, ambiguous: 0 } },
      uploads: { accepted: 2, ambiguous: 0 },
    });
    expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
    await proxy.close();
    await serve.stop();
  },
);
