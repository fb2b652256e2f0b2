/** Names and texts from outside that would act on a terminal: whatever the command shows, they are escaped in it. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
/** A clear of the screen in two forms, a title, a text turned around, and a line that would look like ours. */
const HOSTILE = 'x\u001b[2J\u009b2J\u001b]0;t\u0007\u202egnp.exe\u2066\u061c\u2028y';
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

async function hostileJob(pipeline: string, baseUrl?: string) {
  const job = await createJob(await folder(), {
    pipeline,
    ...(baseUrl !== undefined && { baseUrl }),
    settings: { source: { path: `${HOSTILE}.csv` } },
  });
  const header = `"BusinessName","Address","State","${HOSTILE}","two\nlines"`;
  await writeFile(path.join(job.folder, `${HOSTILE}.csv`), `${header}\nAcme,1 Main St,MT,a,b\n`);
  return job;
}

describe('names of the source that would act on a terminal', () => {
  it.each([
    ['plan', []],
    ['check', []],
    ['run', ['--limit', 'x']],
    ['run', ['--set', `upload.columns.name=${HOSTILE}2`]],
    ['run', ['--set', `nokey${HOSTILE}=1`]],
    ['run', ['--deadline', HOSTILE]],
    [HOSTILE, []],
    ['publish', [HOSTILE]],
  ])('%j %j shows none of them raw, as text and as JSON', async (command, more) => {
    const job = await hostileJob(`h${Math.abs(command.length * 31 + more.join().length)}`);
    for (const args of [[], ['--json'], ['--log-format', 'json']]) {
      const words =
        command === HOSTILE ? [command] : [command, ...more.slice(0, 1), '-c', job.config, ...more.slice(1)];
      if (command === 'publish') words.splice(1, words.length, ...more, '-c', job.config);
      const { stdout, stderr } = await callMain([...words, ...args], { env: job.env });
      expect(stdout + stderr).not.toBe('');
      expect(stdout).not.toMatch(UNSAFE);
      expect(stderr).not.toMatch(UNSAFE);
    }
  });

  it('a run and its log show none either, and as JSON the names stay the same', async () => {
    const serve = await openServe(path.join(await folder(), 'service'));
    const job = await hostileJob('whole', serve.url);
    const plan = await callMain(['plan', '-c', job.config, '--json'], { env: job.env });
    expect(jsonLines(plan.stdout).at(-1)).toMatchObject({
      source: { columns: expect.arrayContaining([HOSTILE]) },
    });
    const log = path.join(job.folder, 'log');
    const end = await callMain(['run', job.config, '--log-level', 'debug', '--log-file', log], {
      env: job.env,
    });
    expect(end.code, end.stderr).toBe(0);
    expect(end.stderr + end.stdout).not.toMatch(UNSAFE);
    expect(await enrichJob(job)).toMatchObject({ found: 'done' });
    await serve.stop();
  });
});
