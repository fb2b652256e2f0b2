import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { addPlan } from '../../src/cli/commands/plan.js';
import { addRun } from '../../src/cli/commands/run.js';
import { addSubmit } from '../../src/cli/commands/submit.js';
import {
  beginOptions,
  type CommonOptions,
  readConfig,
  refuseFileAsRun,
  withBeginOptions,
  withConfigOptions,
  withOutputOptions,
} from '../../src/cli/common-options.js';
import { minimal } from '../helpers/config/minimal-config.js';
import { withFolder } from '../helpers/folders/folders.js';

const parse = (...args: string[]): CommonOptions =>
  withOutputOptions(withConfigOptions(new Command())).parse(args, { from: 'user' }).opts();

describe('the common flags', () => {
  it('have their defaults', () => {
    expect(parse()).toEqual({ logLevel: 'info', logFormat: 'text' });
  });
  it('override the files, a later file overrides an earlier one, and paths are relative to the working directory', () =>
    withFolder(async (folder) => {
      const files = ['a.yaml', 'b.yaml'].map((name) => join(folder, name));
      await writeFile(
        files[0]!,
        JSON.stringify({ ...minimal(), chunks: { maxRecords: 1, maxBytes: '2KB' } }),
      );
      await writeFile(files[1]!, JSON.stringify({ chunks: { maxRecords: 2 }, pipeline: 'b' }));
      const flags = [
        '-c',
        files[0]!,
        '--output',
        'o.csv',
        '--set',
        'chunks.maxBytes=3KB',
        '--set',
        'pipeline=c',
      ];
      const config = await readConfig(parse(...flags), files[1]);
      expect(config).toMatchObject({
        pipeline: 'c',
        chunks: { maxRecords: 2, maxBytes: 3072 },
        output: { path: join(process.cwd(), 'o.csv') },
      });
    }));
  it.each(['chunks.maxRecords', '=5'])('--set %s is refused', async (text) => {
    const refused = readConfig(parse('--set', text, '--source', 'a.csv'));
    await expect(refused).rejects.toMatchObject({ code: 'USAGE', exitCode: 2 });
  });
});

describe('the flags of a command that may begin a run', () => {
  const begin = (...args: string[]) =>
    beginOptions(withBeginOptions(new Command()).option('--new').parse(args, { from: 'user' }).opts());

  it('are options of the run, and leave the config unchanged', () => {
    expect(begin()).toEqual({ fresh: false, yes: false });
    expect(begin('--no-reuse', '--yes', '--new')).toEqual({ fresh: true, yes: true, reuse: false });
  });

  it.each([
    ['run', addRun],
    ['submit', addSubmit],
    ['plan', addPlan],
  ])('are taken by %s', (_, add) => {
    const command = new Command();
    add(command, () => undefined);
    const flags = command.options.map(({ long }) => long);
    expect(flags).toEqual(expect.arrayContaining(['--new', '--no-reuse', '--yes']));
  });
});

describe('refuseFileAsRun', () => {
  it('refuses a config file in place of the run and shows the usage', () => {
    expect(() => refuseFileAsRun('retry', 'forget.yaml', undefined)).toThrow(
      expect.objectContaining({
        message: 'retry needs a run: foliopipe retry RUN [FILE]',
        hint: expect.stringContaining('foliopipe runs'),
      }),
    );
  });
  it('accepts every run, and any text before a file', () => {
    refuseFileAsRun('publish', '20261121T031002-4f9c1a', undefined);
    refuseFileAsRun('publish', 'r.yaml', 'job.yaml');
  });
});
