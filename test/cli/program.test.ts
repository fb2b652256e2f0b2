/** The table of commands: only the called command is loaded, and the list shows what each command takes. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Help } from 'commander';
import { describe, expect, it } from 'vitest';
import { createProgram, rows } from '../../src/cli/program.js';
import { COMMANDS } from '../../src/cli/texts/complete-commands.js';

const program = (...words: string[]) => createProgram(['node', 'foliopipe', ...words], () => undefined);

/** Names of the commands that have more than a name and a description. */
async function loaded(...words: string[]): Promise<string[]> {
  const { commands } = await program(...words);
  return commands
    .filter(({ options, registeredArguments, commands: own }) =>
      [options, registeredArguments, own].some((list) => list.length > 0),
    )
    .map((command) => command.name());
}

describe('a command', () => {
  it.each(rows)('$name is loaded when it is called, and no other command is', async ({ name }) => {
    const ways = [
      [name, '--bogus'],
      [name, 'run'],
      ['--', name],
      ['help', name],
      ['help', '--', name],
    ];
    for (const words of ways) expect(await loaded(...words), words.join(' ')).toEqual([name]);
  });

  it.each(rows)('$name takes what the list of commands says', async ({ name, usage }) => {
    const { commands } = await program(name);
    const whole = commands.find((command) => command.name() === name)!;
    const term = whole.commands.length > 0 ? `${name} ${whole.usage()}` : new Help().subcommandTerm(whole);
    expect(term.replace('[command] ', '')).toBe(`${name} ${usage}`);
  });

  it.each(rows)('$name is known to the texts that name commands, with its own commands', async ({ name }) => {
    const { commands } = (await program(name)).commands.find((command) => command.name() === name)!;
    expect(commands.map((command) => command.name()).sort()).toEqual([...COMMANDS.get(name)!].sort());
  });

  it('is in no text unless the program has it', () => {
    expect([...COMMANDS.keys()].sort()).toEqual(rows.map(({ name }) => name).sort());
  });

  it.each(rows)('$name has examples, with flags that it knows', async ({ name, examples = [] }) => {
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const [word, second, ...words] = example.match(/"[^"]*"|'[^']*'|\S+/g)!;
      expect(word).toBe(name);
      const command = (await program(name)).commands.find((one) => one.name() === name)!;
      const own = command.commands.find((one) => one.name() === second) ?? command;
      const flags = [second ?? '', ...words].filter((one) => one.startsWith('-'));
      const known = [...own.options, ...command.options].flatMap(({ short, long }) => [short, long]);
      expect(known, example).toEqual(expect.arrayContaining(flags));
    }
  });

  it.each([[], ['--help'], ['--help', 'run'], ['help'], ['frobnicate', 'run'], ['help', 'frobnicate']])(
    'is not loaded by foliopipe %s %s',
    async (...words) => {
      expect(await loaded(...words)).toEqual([]);
    },
  );
});

describe('the start', () => {
  /** Packages that are loaded with a file, whatever is typed. */
  function packagesBehind(file: string, seen = new Set<string>()): string[] {
    if (seen.has(file)) return [];
    seen.add(file);
    const statement = /^(?:import|export)\s+(?!type\b)(?:[\w*\s{},]*?\sfrom\s+)?'([^']+)'/gm;
    const names = [...readFileSync(file, 'utf8').matchAll(statement)].map(([, name]) => name!);
    return names.flatMap((name) =>
      name.startsWith('.') ? packagesBehind(join(dirname(file), name.replace(/\.js$/, '.ts')), seen) : [name],
    );
  }
  const src = join(import.meta.dirname, '../../src');

  it('loads commander and nothing heavier', () => {
    const packages = packagesBehind(join(src, 'cli/main.ts')).filter((name) => !name.startsWith('node:'));
    expect([...new Set(packages)]).toEqual(['commander']);
    expect(packagesBehind(join(src, 'cli/commands/run.ts'))).toContain('zod');
    // Loads the rest where it can report that this needs more open files than the limit allows.
    expect(packagesBehind(join(src, 'cli.ts')).filter((name) => !name.startsWith('node:'))).toEqual([]);
  });

  it('loads commander and nothing heavier for the report of a failure', () => {
    const packages = packagesBehind(join(src, 'cli/texts/report-failure.ts')).filter(
      (name) => !name.startsWith('node:'),
    );
    expect([...new Set(packages)]).toEqual(['commander']);
  });
});
