/** The commands that a message names work as they are printed, on the same job, and pay nothing twice. */
import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';

const folder = useSharedFolder();

/** The words of the command that stands behind a text. No word holds a blank here. */
function commandAfter(text: string, said: string): string[] {
  const [, command] = said.split(text);
  return /^foliopipe ([^;\n]+)/.exec(command!)![1]!.split(' ');
}

/** A job of 30 records on a service of its own, which never finishes the second folio. No poll goes on for long. */
async function createStuckJob(pipeline: string) {
  const service = await openFakeService({
    finishedAtPoll: ({ chunk }) => (chunk === 2 ? Number.POSITIVE_INFINITY : 1),
  });
  const settings = { poll: { timeout: '200ms' } };
  const job = await createJob(await folder(), { pipeline, baseUrl: service.url, records: 30, settings });
  return { service, job, here: { env: { FOLIOPIPE_TOKEN: service.token }, cwd: job.folder } };
}

it('a run begun with --new and a stuck folio is gone on with, or ended, by what is printed', async () => {
  const { service, job, here } = await createStuckJob('stuck');
  try {
    await copyFile(job.source, join(job.folder, 'b2.csv'));
    const flags = ['-c', 'job.yaml', '--source', 'b2.csv', '--output', 'o/x.csv'];
    const stuck = await callMain(['run', ...flags, '--new', '--yes'], here);
    expect(stuck).toMatchObject({ code: 5 });
    expect(stuck.stderr).toContain(
      'run the same command without --new to wait for them; nothing is paid again',
    );
    const goOn = commandAfter('go on with: ', stuck.stderr);
    expect(goOn).toEqual(['run', ...flags]);
    const again = await callMain(goOn, here);
    expect(again).toMatchObject({ code: 5 });
    expect(again.stderr).toContain('run the same command again');
    expect(service.count('upload')).toBe(3);

    const warned = commandAfter('it is left for the next run; to give it up: ', again.stderr);
    expect(commandAfter('and its 10 records: ', again.stderr)).toEqual(warned);
    const status = await callMain(['status', ...flags], here);
    expect(await callMain(warned, here)).toMatchObject({ code: 0 });
    expect(status).toMatchObject({ code: 0 });
    const ended = await callMain(goOn, here);
    expect(ended.stderr.replace(/\s+/g, ' ')).toContain(` output ${join(job.folder, 'o/x.csv')} (30 records`);
    expect(ended).toMatchObject({ code: 3 });
    expect(service.count('upload')).toBe(3);
  } finally {
    await service.close();
  }
});

it('a run with values of its own is gone on with by what status and the page of report print without them', async () => {
  const service = await openFakeService({
    trouble: ({ operation, chunk }) =>
      operation === 'upload' && chunk === 2 ? { kind: 'answer', status: 402 } : undefined,
  });
  try {
    const job = await createJob(await folder(), { pipeline: 'own', baseUrl: service.url, records: 30 });
    const here = { env: { FOLIOPIPE_TOKEN: service.token }, cwd: job.folder };
    const own = ['--set', 'chunks.maxRecords=7'];
    expect(await callMain(['run', 'job.yaml', ...own], here)).toMatchObject({ code: 7 });
    const status = await callMain(['status', 'job.yaml'], here);
    expect(status.stdout).toContain(`foliopipe run -c job.yaml ${own.join(' ')}`);
    expect(await callMain(['report', 'job.yaml', '--output', 'r.html'], here)).toMatchObject({ code: 0 });
    const page = await readFile(join(job.folder, 'r.html'), 'utf8');
    expect(page).toContain(`foliopipe run -c job.yaml ${own.join(' ')}`);
  } finally {
    await service.close();
  }
});

it('what publish, retry and abandon print goes on with the unfinished run, also if they got other values', async () => {
  const { service, job, here } = await createStuckJob('other');
  try {
    const own = ['--set', 'chunks.maxRecords=7'];
    expect(await callMain(['run', 'job.yaml', ...own], here)).toMatchObject({ code: 5 });
    const output = ['--set', `output.path=${job.output}`];
    const other = ['-c', 'job.yaml', '--output', 'other.csv'];
    const published = await callMain(['publish', 'last', ...other, ...own], here);
    expect(published).toMatchObject({ code: 5 });
    const goOn = ['run', '-c', 'job.yaml', ...own, ...output];
    expect(commandAfter('  next: ', published.stderr.replace(' or foliopipe collect', ';'))).toEqual(goOn);
    const retried = await callMain(['retry', 'last', ...other, ...own], here);
    expect(commandAfter('finish it with: ', retried.stderr)).toEqual(goOn);
    const abandoned = await callMain(['abandon', '-c', 'job.yaml', '--run', 'last', '--chunk', '2'], here);
    const last = commandAfter('go on with: ', abandoned.stdout.replace(', which', ';'));
    expect(last).toEqual(['run', '-c', 'job.yaml', ...own]);
    expect(await callMain(last, here)).toMatchObject({ code: 3 });
    expect(service.count('upload')).toBe(5);
  } finally {
    await service.close();
  }
});

it('a run at a mistyped address gives way to one at the right address, without a word about --new', async () => {
  const wrong = await openFakeService({ trouble: () => ({ kind: 'answer', status: 404 }) });
  const service = await openFakeService({});
  try {
    const job = await createJob(await folder(), { pipeline: 'moved', baseUrl: service.url, records: 20 });
    const here = { env: { FOLIOPIPE_TOKEN: service.token }, cwd: job.folder };
    const refused = await callMain(['run', 'job.yaml', '--base-url', wrong.url], here);
    expect(refused).toMatchObject({ code: 7 });
    const ended = await callMain(['run', 'job.yaml'], here);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.stderr).toMatch(/began at another address of the service and has paid nothing there/);
    expect(service.count('upload')).toBe(2);
  } finally {
    await wrong.close();
    await service.close();
  }
});
