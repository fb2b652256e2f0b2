/**
 * The commands of the pages: each one is accepted by the parser, and those that need nothing but a local service are
 * typed, one after the other, in one folder.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { CommanderError } from 'commander';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createProgram, rows } from '../src/cli/program.js';
import { openService } from '../src/service/open-service.js';
import { useSharedFolder } from './helpers/folders/folders.js';
import { callMain } from './helpers/processes/call-main.js';
import { serviceOptions, TOKEN } from './helpers/service/client.js';

const root = join(import.meta.dirname, '..');
const names = rows.map(({ name }) => name);
const start = new RegExp(`^(?:[A-Z_]+=\\S+ )*(?:npx (?:--no-install )?)?foliopipe (?:${names.join('|')})\\b`);

interface Typed {
  readonly page: string;
  readonly line: string;
  readonly words: readonly string[];
}

/** The words of a command, as a shell reads them: quotes hold together, and what stands behind is left out. */
function wordsOf(line: string): string[] {
  const [command] = line.split(/\s(?:#|&&|\|\||[|<>&])|;|\s\|\s/);
  const words: readonly string[] = command!.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? [];
  const at = words.indexOf('foliopipe');
  const placeholder = /^(?:N|CHUNK)$/;
  return words.slice(at + 1).map((word) => word.replaceAll(/["']/g, '').replace(placeholder, '7'));
}

/** The commands in blocks of shell and within sentences. */
async function commandsOf(page: string): Promise<Typed[]> {
  const text = await readFile(join(root, page), 'utf8');
  const blocks = [...text.matchAll(/^```(?:sh|console|bash)\n(.*?)^```/gms)].flatMap(([, code]) =>
    code!.split('\n'),
  );
  const inline = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code]) => code!);
  return [...blocks, ...inline]
    .map((line) => line.trim().replace(/^\$ /, ''))
    .filter((line) => start.test(line))
    .map((line) => ({ page, line, words: wordsOf(line) }));
}

/** What the parser says against a command; undefined if it would be carried out. */
async function problemOf(words: readonly string[]): Promise<string | undefined> {
  const accepted = new Error('accepted');
  const argv = ['node', 'foliopipe', ...words];
  const program = await createProgram(argv, () => undefined);
  program.hook('preAction', () => {
    throw accepted;
  });
  try {
    await program.parseAsync(argv);
  } catch (error) {
    if (error === accepted) return undefined;
    if (error instanceof CommanderError && error.exitCode === 0) return undefined;
    return (error as Error).message;
  }
  return 'it does nothing';
}

let typed: readonly Typed[];
beforeAll(async () => {
  const docs = await readdir(join(root, 'docs'), { recursive: true });
  const examples = await readdir(join(root, 'examples'), { recursive: true });
  const pages = [
    'README.md',
    // The page of mistakes has commands that the parser refuses.
    ...docs
      .filter((name) => name.endsWith('.md') && !name.endsWith('mistakes.md'))
      .map((name) => join('docs', name)),
    ...examples.filter((name) => name.endsWith('.md')).map((name) => join('examples', name)),
  ];
  typed = (await Promise.all(pages.map(commandsOf))).flat();
});

/** What the parser says of a command that is only named, such as `foliopipe adopt` or `foliopipe search --name`. */
const unfinished = /missing required|requires|not specified|one of|argument missing|\(outputHelp\)/;

it('every command of the pages is one that the parser accepts', async () => {
  expect(typed.length).toBeGreaterThan(100);
  const wrong: string[] = [];
  for (const { page, line, words } of typed) {
    const problem = await problemOf(words);
    const isName = words.length <= 2 && unfinished.test(problem ?? '');
    if (problem !== undefined && !isName) wrong.push(`${page}: ${line}: ${problem}`);
  }
  expect(wrong).toEqual([]);
});

describe('commands that need only a local service', () => {
  const folder = useSharedFolder();
  let service: Awaited<ReturnType<typeof openService>>;
  beforeAll(async () => {
    const home = await folder();
    service = await openService(serviceOptions(join(home, 'service'), { recordsPerSecond: 0 }));
    await mkdir(join(home, 'data'), { recursive: true });
    const records = Array.from({ length: 30 }, (_, at) => `Dental Clinic ${at},${at} Main St,MT`);
    await writeFile(join(home, 'data/businesses.csv'), `BusinessName,Address,State\n${records.join('\n')}\n`);
    const sections = {
      pipeline: 'nightly',
      source: { path: 'data/businesses.csv' },
      upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
      service: { baseUrl: service.baseUrl, token: TOKEN },
      poll: { first: '5ms', max: '20ms' },
      failures: { tolerate: '100%' },
      output: { path: 'out/enriched.csv' },
    };
    await writeFile(join(home, 'foliopipe.yaml'), JSON.stringify(sections));
  });
  afterAll(() => service.close());

  /** In this order. Each is a command of a page, word by word. */
  const session: readonly (readonly [string, number])[] = [
    ['foliopipe plan', 0],
    ['foliopipe check', 0],
    ['foliopipe run', 0],
    ['foliopipe status', 0],
    ['foliopipe runs', 0],
    ['foliopipe ledger --month 2026-11', 0],
    ['foliopipe publish last', 0],
    ['foliopipe retry last', 0],
    ['foliopipe recover --dry-run', 0],
    ['foliopipe recover', 0],
    ['foliopipe reuse show', 0],
    ['foliopipe runs prune --older-than 30d', 0],
    ['foliopipe submit', 0],
    ['foliopipe collect --no-wait', 0],
    ['foliopipe run --new', 0],
  ];

  it.each(session)('%s ends with %i', async (line, code) => {
    expect(typed.map(({ words }) => words.join(' '))).toContain(line.replace('foliopipe ', ''));
    const home = await folder();
    const end = await callMain(line.split(' ').slice(1), { cwd: home });
    expect(end.code, `${line}: ${end.stderr}`).toBe(code);
    expect(relative(root, home)).toMatch(/^\.\./);
  });
});
