/** Plays each rehearsal on the sample data, and compares it with its page. */
import { copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { scenes } from '../../../src/cli/rehearsal/scenes.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { type CliEnd, runCli } from '../../helpers/processes/cli.js';

const root = new URL('../../../', import.meta.url);
const folder = useSharedFolder();
const published = ['enriched.csv', 'enriched.csv._REHEARSAL', 'enriched.csv.manifest.json'];

/** Scenes in which the process is told to stop, so that it must be a real one. */
const signalled = ['drain-0310'];

interface Step {
  readonly exit: number;
  /** The code of the error; none if the step publishes. */
  readonly code?: string;
  /** Further flags that the page names. */
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

interface Night {
  readonly scene: string;
  /** The first process, and the processes that go on. */
  readonly steps: readonly Step[];
  /** Whether the last output equals that of an uninterrupted run. */
  readonly isWhole: boolean;
}

const nights: readonly Night[] = [
  { scene: 'drain-0310', steps: [{ exit: 143, code: 'INTERRUPTED' }, { exit: 0 }], isWhole: true },
  {
    scene: 'seven-percent-failed',
    steps: [
      { exit: 9, code: 'FAILURE_RATE' },
      { exit: 0, flags: ['--set', 'failures.tolerate=15%'] },
    ],
    isWhole: false,
  },
  { scene: 'outage-40min', steps: [{ exit: 0 }], isWhole: true },
  {
    scene: 'outage-40min',
    steps: [{ exit: 5, code: 'SERVICE_UNAVAILABLE', flags: ['--set', 'retry.giveUpAfter=10m'] }, { exit: 0 }],
    isWhole: true,
  },
  {
    scene: 'columns-changed',
    steps: [
      { exit: 6, code: 'COLUMNS_CHANGED' },
      { exit: 0, flags: ['--set', 'result.onChange=ignore'] },
    ],
    isWhole: false,
  },
  {
    scene: 'one-folio-stuck',
    // The page has the usual six hours, which the test shortens.
    steps: [{ exit: 5, code: 'FOLIOS_TIMED_OUT', env: { FOLIOPIPE_POLL__TIMEOUT: '2h' } }, { exit: 0 }],
    isWhole: true,
  },
  {
    scene: 'token-revoked',
    steps: [
      { exit: 7, code: 'TOKEN_REFUSED' },
      { exit: 7, code: 'TOKEN_REFUSED', flags: ['--new'] },
      { exit: 0 },
    ],
    isWhole: true,
  },
  { scene: 'lost-reply', steps: [{ exit: 0 }], isWhole: true },
  {
    scene: 'lost-reply',
    steps: [{ exit: 3, flags: ['--set', 'ambiguous.policy=hold'] }],
    isWhole: false,
  },
];

interface Played {
  readonly ends: readonly Omit<CliEnd, 'signal'>[];
  /** Files in the folder of the output after each step. */
  readonly files: readonly (readonly string[])[];
  readonly output: string;
  readonly folder: string;
}

let plain: Played;
let played: readonly Played[];

/** The job of a user: without a token, and with an address that cannot be reached. */
async function makeJob(name: string): Promise<string> {
  const home = join(await folder(), name);
  await mkdir(join(home, 'data'), { recursive: true });
  await copyFile(new URL('data/businesses.csv', root), join(home, 'data/businesses.csv'));
  const settings = {
    pipeline: 'nightly',
    source: { path: 'data/businesses.csv' },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl: 'http://127.0.0.1:9', token: `\${FOLIOPIPE_TOKEN}` },
    output: { path: 'out/enriched.csv' },
  };
  await writeFile(join(home, 'nightly.yaml'), JSON.stringify(settings));
  return home;
}

async function play(name: string, scene: readonly string[], steps: readonly Step[]): Promise<Played> {
  const home = await makeJob(name);
  const [ends, files]: [Omit<CliEnd, 'signal'>[], string[][]] = [[], []];
  const out = join(home, 'out', `rehearsal-${scene[0] ?? 'plain'}`);
  for (const { flags = [], env = {} } of steps) {
    const play = scene.some((name) => signalled.includes(name)) ? runCli : callMain;
    ends.push(await play(['run', 'nightly.yaml', '--rehearse', ...scene, ...flags], { cwd: home, env }));
    files.push((await readdir(out).catch(() => [])).sort());
  }
  return { ends, files, output: join(out, 'enriched.csv'), folder: home };
}

beforeAll(async () => {
  plain = await play('plain', [], [{ exit: 0, env: { FOLIOPIPE_POLL__FIRST: '50ms' } }]);
  const ended: Played[] = [];
  for (const [at, { scene, steps }] of nights.entries()) {
    ended.push(await play(`${scene}-${at}`, [scene], steps));
  }
  played = ended;
}, 240_000);

describe('without a scene', () => {
  it('does the whole job without a token and does not touch the real state and output', async () => {
    expect(plain.ends[0]).toMatchObject({ code: 0 });
    expect(plain.files[0]).toEqual(published);
    expect(await readdir(join(plain.folder, '.foliopipe'))).toEqual(['rehearsal']);
    expect(await readdir(join(plain.folder, 'out'))).toEqual(['rehearsal-plain']);
    expect(plain.ends[0]!.stderr).toContain('rehearsal plain: the local service answers, nothing is paid');
  });
});

describe.each(nights.map((night, at) => [night.scene, night, at] as const))('%s', (scene, night, at) => {
  const { steps, isWhole } = night;

  it(`ends with ${steps.map(({ exit }) => exit).join(', then ')}`, () => {
    const { ends, files } = played[at]!;
    expect(
      ends.map(({ code }) => code),
      ends.map(({ stderr }) => stderr).join('\n'),
    ).toEqual(steps.map(({ exit }) => exit));
    for (const [step, { code }] of steps.entries()) {
      if (code === undefined) {
        expect(ends[step]!.stderr).toMatch(/^rehearsal \S+ is done$/m);
        expect(files[step]).toEqual(published);
      } else {
        expect(ends[step]!.stderr).toContain(`[${code}]`);
        expect(files[step]!.filter((name) => !name.endsWith('.partial'))).toEqual([]);
      }
    }
  });

  it('says what happens and then the command that goes on', () => {
    const [first, ...later] = played[at]!.ends;
    const { happens } = scenes.find(({ name }) => name === scene)!;
    expect(first!.stderr).toContain(`rehearsal ${scene}: `);
    expect(first!.stderr).toContain(happens);
    for (const [step, { stderr }] of later.entries()) {
      const isNew = steps[step + 1]!.flags?.includes('--new');
      expect(stderr).toContain(isNew ? happens : 'the trouble is over, the service behaves');
    }
    if (steps[0]!.code === undefined) return;
    if (steps[0]!.exit === 9) {
      // Without a decision it would end in the same way again. No hint may lead to the real job.
      expect(first!.stderr).toContain(
        `start a new run, which pays again: foliopipe run nightly.yaml --rehearse ${scene} --new`,
      );
      return;
    }
    const told = /\n {2}go on with: foliopipe (.+)\n/.exec(first!.stderr)?.[1];
    expect(told).toBe(['run nightly.yaml --rehearse', scene, ...(steps[0]!.flags ?? [])].join(' '));
  });

  it('touches neither the real state nor the real output', async () => {
    const home = played[at]!.folder;
    expect(await readdir(join(home, '.foliopipe'))).toEqual(['rehearsal']);
    expect(await readdir(join(home, '.foliopipe', 'rehearsal'))).toEqual([`${scene}-nightly`]);
    expect(await readdir(join(home, 'out'))).toEqual([`rehearsal-${scene}`]);
  });

  it(`gives ${isWhole ? 'the bytes of an uninterrupted run' : 'every record, not all with a prediction'}`, async () => {
    const [mine, unbroken] = await Promise.all([readFile(played[at]!.output), readFile(plain.output)]);
    expect(mine.equals(unbroken)).toBe(isWhole);
    const manifest = JSON.parse(await readFile(`${played[at]!.output}.manifest.json`, 'utf8'));
    const exitCode = steps.at(-1)!.exit;
    expect(manifest).toMatchObject({ status: 'REHEARSAL', exitCode, counts: { read: 1_000, rejected: 0 } });
    expect(manifest.chunks.length).toBeGreaterThanOrEqual(8);
  });

  it('has a page that says the same', async () => {
    const page = await readFile(new URL(`docs/rehearsals/${scene}.md`, root), 'utf8');
    expect(page).toContain(`foliopipe run nightly.yaml --rehearse ${scene}`);
    for (const { exit, code, flags = [] } of steps) {
      expect(page).toMatch(new RegExp(`exit code (?:is )?${exit}\\b`, 'i'));
      if (code !== undefined) expect(page).toContain(code);
      expect(page).toContain(flags.join(' '));
    }
  });
});

it('every scene is played', () => {
  expect(new Set(nights.map(({ scene }) => scene))).toEqual(new Set(scenes.map(({ name }) => name)));
});

describe('what the pages show of the terminal', () => {
  /** Ids, durations, counts, positions and the number of the failing call differ from run to run. */
  const plainly = (line: string) =>
    line
      .replace(/^\[[\d: -]+\] /, '')
      .replaceAll(/\/\S*\/(?=\.foliopipe|out\/)/g, '')
      .replaceAll(/\b[0-9a-f]{32}\b/g, 'FOLIO')
      .replaceAll(/\d{8}T\d{6}-[0-9a-f]{6}/g, 'RUN')
      .replaceAll(/-[0-9a-f]{8}\.csv/g, '-HASH.csv')
      .replaceAll(/of \w+ ago/g, 'of SPAN ago')
      .replace(/of the (\d+) chunks cut so far are/, 'of $1 chunks')
      .replace(/\b(?:upload|track|download)(?=: | fails | works )/, 'CALL')
      .replaceAll(/\d+(?:\.\d+)?/g, '#')
      .replaceAll(/# (\w+)s\b/g, '# $1')
      // How many folios are open when the process stops is chance: several, one or none.
      .replace(/; # folio with # record (?:is|are) still at the service/, '')
      .replace(/, # folio open at the service/, '')
      .replace(/; # record may have been accepted/, '')
      .trimEnd();

  it.each(scenes.map(({ name }) => name))('%s', async (scene) => {
    const page = await readFile(new URL(`docs/rehearsals/${scene}.md`, root), 'utf8');
    const blocks = [...page.matchAll(/```text\n(.*?)```/gs)].map(([, text]) => text!);
    expect(blocks.length).toBeGreaterThan(0);
    const shown = blocks.flatMap((text) => text.split('\n')).filter((line) => line !== '' && line !== '...');
    const said = new Set(
      nights.flatMap((night, at) =>
        night.scene === scene
          ? played[at]!.ends.flatMap(({ stderr }) => stderr.split('\n').map(plainly))
          : [],
      ),
    );
    const unsaid = shown.map(plainly).filter((line) => !said.has(line));
    expect(unsaid).toEqual([]);
  });
});

describe('a rehearsal', () => {
  it('starts again when the last one is done, and with --new', async () => {
    const revoked = nights.findIndex(({ scene }) => scene === 'token-revoked');
    const { folder: cwd, output } = played[revoked]!;
    const runs = join(cwd, '.foliopipe/rehearsal/token-revoked-nightly/runs');
    const [done, ...others] = await readdir(runs);
    expect(others).toEqual([]);
    const again = await callMain(['run', 'nightly.yaml', '--rehearse', 'token-revoked'], { cwd });
    expect(again.code, again.stderr).toBe(7);
    const [begun, ...more] = await readdir(runs);
    expect(more).toEqual([]);
    expect(begun).not.toBe(done);
    // As in a real run, the last output stays until the next one replaces it.
    expect((await stat(output)).isFile()).toBe(true);
  });

  it.each(['status', 'report', 'runs show'])(
    '%s names no command that would write over the real output',
    async (command) => {
      for (const scene of ['lost-reply', 'seven-percent-failed']) {
        const {
          folder: cwd,
          ends,
          output: own,
        } = played[nights.findLastIndex((night) => night.scene === scene)]!;
        const manifest = await readFile(`${own}.manifest.json`, 'utf8');
        const real = manifest.replace(/("publication": *)\d+/, '$199').replace('REHEARSAL', 'SUCCESS');
        await writeFile(
          join(cwd, 'out', 'enriched.csv.manifest.json'),
          real.replaceAll(/T\d{6}-/g, 'T235959-'),
        );
        const state = [
          '--set',
          'service.embedded=true',
          '--state-dir',
          `.foliopipe/rehearsal/${scene}-nightly`,
        ];
        const output = command === 'report' ? ['--output', 'page.html'] : [];
        const { stdout, stderr, code } = await callMain(
          [...command.split(' '), '-c', 'nightly.yaml', ...state, ...output],
          { cwd },
        );
        expect(code, stderr).toBe(0);
        const told = command === 'report' ? await readFile(join(cwd, 'page.html'), 'utf8') : stdout;
        expect(told).toContain(/rehearsal (\S+) is done/.exec(ends.at(-1)!.stderr)![1]);
        expect(told).not.toMatch(/foliopipe (?:retry|publish|run)\b/);
      }
    },
  );

  it('replaces no output that was paid for, whatever is typed', async () => {
    const { folder: cwd, output: own } =
      played[nights.findLastIndex(({ scene }) => scene === 'outage-40min')]!;
    const output = join(cwd, 'out', 'enriched.csv');
    const manifest = (await readFile(`${own}.manifest.json`, 'utf8')).replace('REHEARSAL', 'SUCCESS');
    await writeFile(output, 'paid');
    await writeFile(`${output}.manifest.json`, manifest);
    const typed = ['-c', 'nightly.yaml', '--set', 'service.embedded=true'];
    const state = ['--state-dir', '.foliopipe/rehearsal/outage-40min-nightly'];
    const refused = await callMain(['publish', 'last', ...typed, ...state], { cwd });
    expect(refused.code, refused.stderr).toBe(2);
    expect(refused.stderr).toContain('[OUTPUT_PAID_FOR]');
    expect(await readFile(output, 'utf8')).toBe('paid');
    const elsewhere = ['--output', 'out/played.csv'];
    const published = await callMain(['publish', 'last', ...typed, ...state, ...elsewhere], { cwd });
    expect(published.code, published.stderr).toBe(0);
    expect(await readFile(join(cwd, 'out', 'played.csv'))).toEqual(await readFile(own));
  });

  it.each([
    [
      ['--rehearse', 'unknown'],
      'SCENE_UNKNOWN',
      /\n {2}drain-0310 +the node is drained[\s\S]*next: foliopipe run FILE --rehearse SCENE: /,
    ],
    [['--rehearse', '--dry-run'], 'USAGE', /--dry-run and --rehearse exclude each other/],
  ])('%j is refused', async (flags, code, message) => {
    const home = await makeJob(`refused-${code}`);
    const end = await callMain(['run', 'nightly.yaml', ...flags], { cwd: home });
    expect(end.code).toBe(2);
    expect(end.stderr).toContain(`[${code}]`);
    expect(end.stderr).toMatch(message);
  });
});
