/** Every error says what to do next, and every command that a text of the sources names is one that can be typed. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram, rows } from '../src/cli/program.js';
import { ConfigError } from '../src/errors.js';
import { hintOf } from '../src/hints.js';
import { nearestName } from '../src/nearest-name.js';

const root = join(import.meta.dirname, '..');
const sources = ['src', 'pipelines'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => ({
      file: join(folder, name),
      text: withoutComments(readFileSync(join(root, folder, name), 'utf8')),
    })),
);

function withoutComments(text: string): string {
  return text.replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '').replaceAll('\\n', '\n');
}

/** The text from one bracket to the one that closes it. */
function inBrackets(text: string, from: number): string {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '(') depth++;
    else if (text[at] === ')' && --depth === 0) return text.slice(from + 1, at);
  }
  throw new Error(`a bracket is never closed: ${text.slice(from, from + 80)}`);
}

const kinds =
  'Config|Source|Trouble|Outage|FolioLost|Untrusted|Mismatch|BrokenReply|Refused|Guard|Locked|Deadline|StillProcessing|AmbiguousUpload';

/** Each place that makes an error with a code of its own. */
const errors = sources.flatMap(({ file, text }) =>
  [...text.matchAll(new RegExp(`new (?:${kinds})Error\\(`, 'g'))].map(({ 0: found, index }) => {
    const made = inBrackets(text, index + found.length - 1);
    return { file, made, codes: [...made.matchAll(/'([A-Z]+(?:_[A-Z]+)+)'/g)].map(([, code]) => code!) };
  }),
);

/** Errors of parts, which get their hint where it is known what was tried: src/stages/download/repair-parts.ts. */
const hintedLater = ['RESULTS_DO_NOT_MATCH', 'PART_MALFORMED'];

it('each error has a hint, of its own or by its code', () => {
  expect(errors.length).toBeGreaterThan(200);
  const without = errors
    .filter(({ made }) => !/\bhint\b|\bdetails\b/.test(made))
    .filter(({ codes }) => codes.length === 0 || codes.some((code) => !hintedLater.includes(code)))
    .filter(
      ({ codes }) => codes.length === 0 || codes.some((code) => !hintOf(new ConfigError(code, 'what'))),
    );
  expect(without.map(({ file, made }) => `${file}: ${made.trim().slice(0, 60)}`)).toEqual([]);
});

it('each code that a page names is one of the sources', () => {
  const pages = [
    'docs/failures.md',
    'docs/sources.md',
    'docs/warehouse.md',
    'docs/output.md',
    'docs/output-places.md',
    'README.md',
  ];
  const all = sources.map(({ text }) => text).join('\n');
  const named = pages.flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/`([A-Z]+(?:_[A-Z]+)+)`/g)].map(([, code]) => code!),
  );
  expect(named.length).toBeGreaterThan(100);
  // Variables of the environment are written in the same way.
  const codes = [...new Set(named)].filter(
    (code) => !/^(?:AWS|FOLIOPIPE|NODE|DATABASE|HTTPS?|PG)_/.test(code),
  );
  expect(codes.filter((code) => !all.includes(code))).toEqual([]);
});

/** A command in a text, as far as it is no prose: flags with their values, and words that stand for something. */
interface Named {
  readonly file: string;
  /** From the command's name on. */
  readonly words: readonly string[];
  /** Whether it stands there to be typed as it is, behind a colon. */
  readonly isToType: boolean;
  /** Whether it has flags or arguments. */
  readonly hasMore: boolean;
}

/** The texts of a source, with `1` for each word that is put in; what is put in may hold texts too. */
function textsOf(source: string): string[] {
  const texts: string[] = [];
  let rest = source;
  for (;;) {
    const next = rest.replaceAll(/(\w?)\$\{([^{}]*)\}/g, (_, before: string, inner: string) => {
      texts.push(inner);
      return before === '' ? '1' : before;
    });
    if (next === rest) return [...texts, rest];
    rest = next;
  }
}

const texts = sources.flatMap(({ file, text }) => textsOf(text).map((one) => ({ file, text: one })));
const mentions = texts.flatMap(({ file, text }) =>
  [...text.matchAll(/(: ?|[^\w./@-])foliopipe +([a-z-][^\n]*)/g)].map(([, before, rest]) => ({
    file,
    isToType: before!.startsWith(':'),
    // The text ends with its quote.
    rest: rest!,
  })),
);
const commandNames = rows.map(({ name }) => name);

/** Words up to the end of the command, without the quotes and marks around them. */
function wordsOf(rest: string): { readonly word: string; readonly isLast: boolean }[] {
  return [...rest.matchAll(/'[^' ]+(?: [^']*)?'(?=[\s;,.)`"]|$)|[^\s]+/g)].map(([found]) => {
    const word = found.replace(/^[`'"]+/, '').replace(/[`'";:,.)\]}]+$/, '');
    return { word, isLast: /[;:,)`"]$|[^.]\.$|'$/.test(found) && !/^'.*=.*'$/.test(found) };
  });
}

async function namedCommand(file: string, rest: string, isToType: boolean): Promise<Named | undefined> {
  const [first, ...others] = wordsOf(rest);
  if (!commandNames.includes(first!.word)) {
    const meant = nearestName(first!.word, commandNames);
    // Prose says "foliopipe reads"; a word that is nearly a command is a mistake.
    if (meant !== undefined && first!.word.length > 4 && !PROSE.has(first!.word)) {
      throw new Error(`foliopipe ${first!.word}: is ${meant} meant?`);
    }
    return undefined;
  }
  let command = await commandOf(first!.word);
  const words = [first!.word];
  let depth = 1;
  let isOver = first!.isLast;
  for (let at = 0; at < others.length && !isOver; at++) {
    const { word, isLast } = others[at]!;
    const inner: Command | undefined = command.commands.find((one) => one.name() === word);
    // Which of its commands is only known when the text is made.
    if (word === '1' && command.commands.length > 0) return undefined;
    if (inner !== undefined) {
      command = inner;
      depth++;
    } else if (word.startsWith('-')) {
      const name = word.split('=')[0]!;
      const option = command.options.find(({ long, short }) => long === name || short === name);
      if (option === undefined) throw new Error(`foliopipe ${words.join(' ')} takes no ${name}`);
      if (option.required && !word.includes('=') && !isLast) {
        words.push(word, others[++at]!.word);
        isOver = others[at]!.isLast;
        continue;
      }
    } else if (!/^(?:[A-Z]+(?:\.csv)?|\d+|last)$/.test(word)) break;
    words.push(word);
    isOver = isLast;
  }
  return { file, words, isToType, hasMore: words.length > depth };
}

/** What foliopipe does, in texts. */
const PROSE = new Set(['reads', 'loads', 'checks', 'needs', 'runs', 'collects', 'searches']);

const loaded = new Map<string, Promise<Command>>();
function commandOf(name: string): Promise<Command> {
  const found = loaded.get(name) ?? load(name);
  loaded.set(name, found);
  return found;
}

async function load(name: string): Promise<Command> {
  const { commands } = await createProgram(['node', 'foliopipe', name], () => undefined);
  return commands.find((command) => command.name() === name)!;
}

/** Parses the words as if they were typed, up to where the command would begin. */
async function parse(words: readonly string[]): Promise<void> {
  const examples: Readonly<Record<string, string>> = { CHUNK: '1', N: '1', DIALECT: 'postgres' };
  const typed = words.map((word, at) =>
    words[at - 1] === '--print' ? 'postgres' : (examples[word] ?? word),
  );
  const argv = ['node', 'foliopipe', ...typed];
  const program = await createProgram(argv, () => undefined);
  program.hook('preAction', () => {
    throw new Error('accepted');
  });
  await program.parseAsync(argv).catch((error: Error) => {
    if (error.message !== 'accepted') throw new Error(`foliopipe ${words.join(' ')}: ${error.message}`);
  });
}

describe('each command in a text', () => {
  it('is accepted by the command line, with its flags and arguments', async () => {
    const wrong: string[] = [];
    const distinct = new Map<string, readonly string[]>();
    for (const { file, rest, isToType } of mentions) {
      try {
        const named = await namedCommand(file, rest, isToType);
        if (named === undefined || !(named.isToType || named.hasMore)) continue;
        const typed = named.words.join(' ');
        if (!distinct.has(typed)) await parse(named.words);
        distinct.set(typed, named.words);
      } catch (error) {
        wrong.push(`${file}: ${(error as Error).message}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(distinct.size).toBeGreaterThan(40);
  });

  it.each([
    ['collecct; then', 'is collect meant?'],
    ['run --fresh', 'takes no --fresh'],
    ['status --run R --nope', 'takes no --nope'],
  ])('would be found if it were wrong: %s', async (rest, problem) => {
    await expect(namedCommand('a.ts', rest, true)).rejects.toThrow(problem);
  });

  it('that lacks an argument would be found', async () => {
    const named = await namedCommand('a.ts', "retry', and", true);
    await expect(parse(named!.words)).rejects.toThrow("missing required argument 'run'");
  });
});
