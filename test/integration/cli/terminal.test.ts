/**
 * Real terminals, by `script`, which Debian and Ubuntu always have: one is closed while uploads are in flight, and one
 * answers the questions of `init`. Where there is none, signals.test.ts closes pipes, and init.test.ts answers in place of
 * a person.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { openServe } from '../../helpers/service/serve.js';
import { openUploadProxy } from '../../helpers/service/upload-proxy.js';

const pathOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const folder = useSharedFolder();
const command = pathOf('../../../dist/bundle/cli.js');

/** A command in a terminal of so many columns, and all that it has shown. */
function openTerminal(words: readonly string[], env: NodeJS.ProcessEnv, { cwd = '.', columns = 80 } = {}) {
  const line = [process.execPath, ...words].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', `stty columns ${columns}; exec ${line}`, '/dev/null'], {
    cwd,
    env: { PATH: process.env.PATH, TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  let shown = '';
  child.stdout.on('data', (text: Buffer) => {
    shown += text;
  });
  const ended = new Promise<number | null>((end) => child.on('close', end));
  return {
    child,
    ended,
    type: (text: string) => child.stdin.write(text),
    shows: (text: string) => expect.poll(() => shown).toContain(text),
    shown: () => shown,
  };
}

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
    const terminal = openTerminal([...child, command, 'run', job.config, '--log-file', log], job.env);
    try {
      await proxy.accepted(2);
      // The status line is only shown in a terminal.
      await terminal.shows('2 uploading');
      terminal.child.kill('SIGKILL');
      await expect.poll(() => readFile(log, 'utf8')).toContain('SIGHUP: stopping');
      proxy.release();
      const ended = async () => JSON.parse(await readFile(end, 'utf8')) as object;
      await expect.poll(ended).toEqual({ code: 143, signal: null });
    } finally {
      terminal.child.kill('SIGKILL');
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

it.runIf(hasTerminals)(
  'init asks in a terminal, asks again after a wrong answer, and writes nothing after Ctrl-C',
  async () => {
    const cwd = await mkdtemp(join(await folder(), 'init-'));
    const rows = 'Acme Inc,12 Main St,MT\nHarbor Hardware,9 Oak Ave,ID\n';
    await writeFile(join(cwd, 'firms.csv'), `Legal Name,Street,ST\n${rows}`);
    const given = openTerminal([command, 'init', 'firms.csv'], {}, { cwd });
    await given.shows('name of the business [Legal Name]: ');
    given.type('\u0003');
    expect(await given.ended).toBe(130);
    expect(given.shown()).toContain('nothing was written');
    expect(await readdir(cwd)).toEqual(['firms.csv']);

    const { type, shows, shown, ended } = openTerminal(
      [command, 'init', 'firms.csv'],
      {},
      { cwd, columns: 60 },
    );
    const answers = [
      ['name of the business [Legal Name]: ', 'Firm\r'],
      ['there is no column "Firm"', '\r'],
      ['its street address, - for none [Street]: ', '-\r'],
      ['its state, - for none [ST]: ', '\r'],
      ['Address of the service (empty: later): ', 'https://service.example\r'],
      ['Enriched file [out/firms-enriched.csv]: ', '\r'],
    ] as const;
    for (const [question, answer] of answers) {
      await shows(question);
      type(answer);
    }
    expect(await ended, shown()).toBe(0);
    expect(shown()).toContain('wrote foliopipe.yaml');
    const config = parse(await readFile(join(cwd, 'foliopipe.yaml'), 'utf8')) as object;
    expect(config).toMatchObject({
      upload: { columns: { name: 'Legal Name', state: 'ST' } },
      service: { baseUrl: 'https://service.example' },
      output: { path: 'out/firms-enriched.csv' },
    });
    expect(config).not.toMatchObject({ upload: { columns: { address: expect.anything() } } });
  },
);

it.runIf(hasTerminals)('reuse forget asks in a terminal, and an empty answer gives nothing up', async () => {
  const job = await createJob(await folder(), { pipeline: 'forget', baseUrl: 'http://127.0.0.1:9' });
  const { shows, type, ended, shown } = openTerminal(
    [command, 'reuse', 'forget', '--all', '-c', job.config],
    job.env,
  );
  await shows('Their records are bought again. yes or no [no]: ');
  type('\r');
  expect(await ended, shown()).toBe(0);
  expect(shown()).toContain('nothing was forgotten');
});
