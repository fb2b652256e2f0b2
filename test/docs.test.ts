/** The pages: their links lead somewhere, and the rules that comments cite have a heading. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { PlanJobOptions, RunOptions, RunPorts } from '../pipelines/index.js';
import { rows } from '../src/cli/program.js';

/** Parts that a program may replace; the page names them elsewhere. */
type Port = Exclude<keyof RunPorts, 'logger'>;

const root = join(import.meta.dirname, '..');
const filesIn = (folder: string, ending: RegExp) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !name.includes('node_modules'))
    .map((name) => join(folder, name));
const read = (file: string) => readFileSync(join(root, file), 'utf8');

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...filesIn('docs', /\.md$/),
  ...filesIn('examples', /\.md$/),
];
const rules = [
  'Balance',
  'Intent first',
  'Paid requests are not retried blindly',
  'Resume is running again',
  'Check before paying',
  'What was bought is kept',
  'A file appears whole',
  'Join by key, and prove it',
  'Trouble stays with the chunk',
  'The service is not trusted',
  'A rehearsal never looks real',
  'One writer',
  'Reuse is decided once',
  'Losing the audience does not lose the job',
];

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

function anchorsOf(page: string): readonly string[] {
  const text = read(page).replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!));
}

const linksOf = (page: string) => [...read(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!);

it('the pages and their links are found', () => {
  expect(pages.length).toBeGreaterThan(20);
  expect(linksOf('README.md').length).toBeGreaterThan(10);
  expect(anchorsOf('docs/architecture.md')).toContain('intent-first');
});

describe.each(pages)('%s', (page) => {
  it('links to files and headings that exist', () => {
    const broken = linksOf(page)
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path, anchor] = link.split('#') as [string, string?];
        const file = path === '' ? page : relative(root, join(root, dirname(page), path));
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && !anchorsOf(file).includes(anchor);
      });
    expect(broken).toEqual([]);
  });

  it('has tables with a head and no row apart from them', () => {
    const lines = read(page)
      .replaceAll(/^```[\s\S]*?^```/gm, '')
      .split('\n');
    const isRow = (line?: string) => line?.startsWith('|') ?? false;
    const first = lines.filter(
      (line, at) => isRow(line) && !isRow(lines[at - 1]) && !/^\|[-|]+\|$/.test(lines[at + 1] ?? ''),
    );
    expect(first).toEqual([]);
  });

  it('names folders and files of the sources that exist', () => {
    const named = [...read(page).matchAll(/`((?:src|pipelines|bench|config|test)\/[\w./-]*)`/g)].map(
      ([, path]) => path!,
    );
    const real = named.filter((path) => !path.includes('NAME'));
    expect(real.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });
});

it('docs/index.md leads to every page', () => {
  const index = read('docs/index.md');
  const written = filesIn('docs', /\.md$/).filter((page) => dirname(page) !== 'docs/rehearsals');
  const missing = written.filter(
    (page) => page !== 'docs/index.md' && !index.includes(`(${relative('docs', page)}`),
  );
  expect(missing).toEqual([]);
});

it('docs/embedding.md shows a test that runs', () => {
  const test = read('test/integration/library/against-service.test.ts');
  expect(read('docs/embedding.md')).toContain(`\n${test}\`\`\``);
});

it('docs/ports.md shows an output store that passes the suite of the port', () => {
  const store = read('test/helpers/memory/memory-output-store.ts');
  const shown = store.slice(store.indexOf('\n') + 1).replace("'../../../pipelines/index.js'", "'foliopipe'");
  expect(read('docs/ports.md')).toContain(`\`\`\`ts\n${shown}\`\`\``);
});

it('docs/embedding.md lists every option of a run, with flags of the command', () => {
  const ofRun: Record<Exclude<keyof RunOptions, Port>, true> = {
    signal: true,
    fresh: true,
    limit: true,
    reuse: true,
    yes: true,
    existing: true,
    deadline: true,
    publishPartial: true,
    waitLock: true,
    label: true,
    records: true,
    stdin: true,
    endpoint: true,
    proxies: true,
    holder: true,
    logger: true,
    onProgress: true,
    completeText: true,
    measure: true,
    isServiceSpare: true,
    sendsNothing: true,
    at: true,
  };
  const ofPlan: Record<Exclude<keyof PlanJobOptions, Port>, true> = {
    signal: true,
    fresh: true,
    limit: true,
    reuse: true,
    yes: true,
    records: true,
    stdin: true,
    logger: true,
    onProgress: true,
  };
  const page = read('docs/embedding.md');
  const table = page.slice(page.indexOf('| option | does |'), page.indexOf('**Hints are commands.**'));
  const listed = [...table.matchAll(/^\| `(\w+)`( \*)? \|/gm)];
  expect(listed.map(([, name]) => name)).toEqual(Object.keys(ofRun));
  expect(listed.filter(([, , mark]) => mark).map(([, name]) => name)).toEqual(Object.keys(ofPlan));
  const command = filesIn('src/cli', /\.ts$/).map(read).join('');
  const flags = [...table.matchAll(/`(--[a-z-]+)/g)].map(([, flag]) => flag!);
  expect(flags.length).toBeGreaterThan(8);
  expect(flags.filter((flag) => !new RegExp(`['\\s]${flag}['\\s]`).test(command))).toEqual([]);
});

describe('docs/architecture.md', () => {
  it('has a heading for each rule, in order', () => {
    const headings = [...read('docs/architecture.md').matchAll(/^### (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(rules);
  });

  it('has each anchor and each rule that is cited anywhere', () => {
    const sources = ['src', 'pipelines', 'test', 'bench'].flatMap((folder) => filesIn(folder, /\.[jt]s$/));
    const anchors = anchorsOf('docs/architecture.md');
    const wrong = sources.flatMap((file) => {
      // A rule's name may be wrapped within a comment.
      const text = read(file).replaceAll(/\n\s*(?:\*|\/\/) /g, ' ');
      const cited = [...text.matchAll(/docs\/architecture\.md#([\w-]+)/g)].map(([, anchor]) => anchor!);
      const named = [...text.matchAll(/\brules? "([^"]+)"/g)].map(([, rule]) => rule!);
      return [
        ...cited.filter((anchor) => !anchors.includes(anchor)),
        ...named.filter((rule) => !rules.includes(rule)),
      ].map((what) => `${file}: ${what}`);
    });
    expect(wrong).toEqual([]);
  });
});

it('the README or docs/index.md names every command', () => {
  const text = read('README.md') + read('docs/index.md');
  const commands = rows.map(({ name }) => name);
  expect(commands.filter((name) => !text.includes(`foliopipe ${name}`))).toEqual([]);
});
