/** Commands in texts are completed with what was typed, and never begin another paid run. */
import { afterEach, describe, expect, it } from 'vitest';
import { createProgram } from '../../../src/cli/program.js';
import { type ConfigFlag, completeCommands } from '../../../src/cli/texts/complete-commands.js';
import {
  nextSteps,
  rememberCommand,
  rememberRehearsal,
  rememberRun,
  rememberUnfinished,
} from '../../../src/cli/texts/next-steps.js';
import { describeFailure } from '../../../src/cli/texts/report-failure.js';
import { ConfigError } from '../../../src/errors.js';

const flags: ConfigFlag[] = [
  { name: '-c', value: 'other.yaml' },
  { name: '--output', value: "o/it's.csv" },
  { name: '--set', value: 'source.maxRejected=1' },
];
const added = "-c other.yaml --output 'o/it'\\''s.csv' --set source.maxRejected=1";

describe('a command that npm has started', () => {
  const env = process.env;
  afterEach(() => {
    process.env = env;
    rememberCommand([]);
  });

  it.each([
    ["'foliopipe' 'run'", true],
    ['foliopipe run -c nightly.yaml', true],
    ['npm run --silent build && node dist/bundle/cli.js run config/default.yaml', true],
    ["'vitest' 'run' test/foliopipe.test.ts", false],
  ])('by %s names its next steps so: %s', (npm_lifecycle_script, isSo) => {
    process.env = { npm_command: 'exec', npm_lifecycle_script };
    rememberCommand(['node', 'foliopipe', 'run']);
    const text = 'foliopipe wrote it; next: foliopipe run, foliopipe init x.csv, or foliopipe --help';
    const npx = text.replaceAll(/foliopipe (?=run|init|--)/g, 'npx foliopipe ');
    expect(nextSteps(nextSteps(text))).toBe(isSo ? npx : text);
  });
});

describe('a command in a text', () => {
  it.each([
    ['foliopipe publish RUN publishes it', `foliopipe publish ${added} RUN publishes it`],
    ['go on: foliopipe run', `go on: foliopipe run ${added}`],
    [
      'or foliopipe run; else `foliopipe status`',
      `or foliopipe run ${added}; else \`foliopipe status ${added}\``,
    ],
    [
      'next: foliopipe run --set output.delta=true goes on. Or foliopipe status -c x',
      `next: foliopipe run ${added} --set output.delta=true goes on. Or foliopipe status ${added.slice(14)} -c x`,
    ],
    ['foliopipe runs prune, then', `foliopipe runs prune ${added}, then`],
    ['(foliopipe adopt --run R --chunk 4 FOLIO)', `(foliopipe adopt ${added} --run R --chunk 4 FOLIO)`],
    ['foliopipe state backup DIR', `foliopipe state backup ${added} DIR`],
    ['foliopipe state copy --from DIR; or', `foliopipe state copy ${added} --from DIR; or`],
    ['foliopipe fleet', 'foliopipe fleet -c other.yaml'],
    ['foliopipe enqueue --again east', 'foliopipe enqueue --again -c other.yaml east'],
    ['foliopipe enqueue a.yaml', 'foliopipe enqueue a.yaml'],
    ['foliopipe load RUN', `foliopipe load ${added} RUN`],
    ['foliopipe --help', 'foliopipe --help'],
    ['foliopipe 0.1 wrote /srv/foliopipe runs', 'foliopipe 0.1 wrote /srv/foliopipe runs'],
    ['the next foliopipe run does not wait', 'the next foliopipe run does not wait'],
    ['foliopipe serve', 'foliopipe serve'],
    // Its own `--output` is the page.
    ['foliopipe report RUN', 'foliopipe report -c other.yaml --set source.maxRejected=1 RUN'],
  ])('%s', (text, completed) => {
    expect(completeCommands(text, flags)).toBe(completed);
    expect(completeCommands(text, [])).toBe(text);
  });
  it('keeps a config that is its argument', () => {
    const typed = 'foliopipe run b.yaml --log-file x';
    expect(completeCommands(typed, [{ name: '-c', value: 'b.yaml' }])).toBe(typed);
  });
  it('keeps a flag of its own', () => {
    expect(completeCommands('foliopipe run --set source.maxRejected=3 -c a.yaml; x', flags)).toBe(
      "foliopipe run --output 'o/it'\\''s.csv' --set source.maxRejected=3 -c a.yaml; x",
    );
    const inner: ConfigFlag[] = [{ name: '--set', value: 'upload.columns.state=Town' }];
    const whole = `foliopipe run --set 'upload.columns={"name":"Name"}'`;
    expect(completeCommands(whole, inner)).toBe(whole);
    expect(completeCommands(`foliopipe run; ${whole}`, inner)).toBe(
      `foliopipe run --set upload.columns.state=Town; ${whole}`,
    );
    expect(completeCommands('foliopipe run sends the upload', inner)).toContain('columns.state=Town');
    expect(completeCommands('foliopipe run --set output.delta=false --output=x', flags)).toBe(
      'foliopipe run -c other.yaml --set source.maxRejected=1 --set output.delta=false --output=x',
    );
  });
});

/** Remembers a command as `main` does, without its action. */
async function type(...words: string[]): Promise<void> {
  const argv = ['node', 'foliopipe', ...words];
  const program = await createProgram(argv, () => undefined);
  program.hook('preAction', (_, command) => {
    rememberCommand(argv, command);
    throw new Error('typed');
  });
  await expect(program.parseAsync(argv)).rejects.toThrow('typed');
}

describe('what was typed', () => {
  it.each([
    [['run', '-c', 'a.yaml', 'b.yaml', '--json'], 'foliopipe retry -c a.yaml -c b.yaml RUN'],
    [['run', '--source', 'b*.csv', '--yes'], "foliopipe retry --source 'b*.csv' RUN"],
    [['publish', 'R1', 'a.yaml', '--state-dir', 's'], 'foliopipe retry -c a.yaml --state-dir s RUN'],
    [['adopt', 'F', '--run', 'R', '--chunk', '1', 'a.yaml'], 'foliopipe retry -c a.yaml RUN'],
    [
      ['status', '--base-url=http://x', '--set', 'a=b c'],
      "foliopipe retry --base-url http://x --set 'a=b c' RUN",
    ],
    [['runs'], 'foliopipe retry RUN'],
    [
      ['runs', '--set', 'state=postgres://me@db.test/one', '--set', 'load.into=postgres://db.test/two'],
      `foliopipe retry --set 'state=\${STATE_URL}' --set load.into=postgres://db.test/two RUN`,
    ],
    [['report', 'R1', 'a.yaml', '--output', 'page.html'], 'foliopipe retry -c a.yaml RUN'],
    [['report', 'a.yaml'], 'foliopipe retry -c a.yaml RUN'],
    [['load', 'a.yml'], 'foliopipe retry -c a.yml RUN'],
    [['runs', 'show', 'a.json'], 'foliopipe retry -c a.json RUN'],
    [['run', '--rehearse', '--output', 'x'], 'foliopipe retry RUN'],
  ])('%j', async (words, completed) => {
    await type(...words);
    expect(nextSteps('foliopipe retry RUN')).toBe(completed);
  });
});

it.each([
  [true, ''],
  [false, ' --set state=null'],
])(
  'a rehearsal names its own state where a command needs no more (real state in a folder: %s)',
  async (isFolder, more) => {
    const hint =
      'foliopipe abandon --run R --chunk 3; foliopipe status names it; foliopipe adopt FOLIO; foliopipe retry R';
    const chunks = { maxRecords: 125 };
    await type('run', 'a.yaml', '--state-dir', 's', '--set', 'state=postgres://db.test/one', '--rehearse');
    expect(nextSteps(hint)).toBe(hint);
    rememberRehearsal({ stateDir: '/s/rehearsal', chunks } as never, isFolder);
    const own = `-c a.yaml --state-dir /s/rehearsal --set service.embedded=true${more}`;
    const shown = `foliopipe abandon ${own} --run R --chunk 3; foliopipe status ${own} names it; foliopipe adopt ${own} --set chunks.maxRecords=125 FOLIO; foliopipe retry R`;
    expect(nextSteps(hint)).toBe(shown);
    expect(nextSteps(shown)).toBe(shown);
    await type('run', 'a.yaml');
    expect(nextSteps('foliopipe status')).toBe('foliopipe status -c a.yaml');
  },
);

it('the same command with --new goes on only without it, once its run has begun', async () => {
  const hint = 'run the same command again to wait; The same command goes on; the same command with more';
  await type('run', 'a.yaml', '--new', '--yes');
  expect(nextSteps(hint)).toBe(hint);
  rememberRun('r1');
  expect(nextSteps(hint)).toBe(
    'run the same command without --new to wait; The same command without --new goes on; the same command without --new with more',
  );
  await type('run', 'a.yaml');
  rememberRun('r1');
  expect(nextSteps(hint)).toBe(hint);
});

it('after an error of a run that --new has begun a command goes on with it, unless the run is gone', async () => {
  const words = ['run', 'a.yaml', '--new', '--yes'];
  const resumeAfter = (code: string) => describeFailure(new ConfigError(code, 'text')).shown.resume;
  await type(...words);
  expect(resumeAfter('FILE_GONE')).toBeNull();
  rememberRun('r1');
  expect(resumeAfter('FILE_GONE')).toBe('foliopipe run a.yaml');
  expect(resumeAfter('RUN_GONE')).toBeNull();
});

it('commands that go on with an unfinished run have its values, and others have what was typed', async () => {
  await type('status', 'a.yaml', '--output', 'b.csv', '--set', 'chunks.maxRecords=5', '--set', 'pipeline=x');
  rememberUnfinished(['chunks.maxRecords=100', 'output.path=/out/c.csv'], { limit: 50 });
  const own = '--set chunks.maxRecords=100 --set output.path=/out/c.csv --limit 50';
  const given = '-c a.yaml --output b.csv --set chunks.maxRecords=5 --set pipeline=x';
  expect(nextSteps('foliopipe run')).toBe(`foliopipe run -c a.yaml --set pipeline=x ${own}`);
  expect(nextSteps('foliopipe collect --no-wait; foliopipe retry RUN')).toBe(
    `foliopipe collect -c a.yaml --set pipeline=x ${own} --no-wait; foliopipe retry ${given} RUN`,
  );
  expect(nextSteps('foliopipe run --new')).toBe(`foliopipe run ${given} --new`);
  expect(nextSteps('foliopipe run --set output.path=d.csv')).toBe(
    `foliopipe run -c a.yaml --set pipeline=x ${own.replace(' --set output.path=/out/c.csv', '')} --set output.path=d.csv`,
  );
});
