/** Checks the import lines of the sources against the layers of docs/architecture.md. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const base = [
  'sql-text',
  'types',
  'errors',
  'check-call',
  'disk-error',
  'make-folder',
  'text',
  'loopback',
  'nearest-name',
  'quantities',
  'logger',
  'failpoints',
  'output-format',
  'failure-reasons',
  'hide-secrets',
];
const middle = ['progress', 'reuse', 'results', 'api', 'checkpoint', 'csv', 'streams', 'files', 'config'];

/**
 * Who may import whom besides itself: a folder of `src`, a file of `src` without its ending, or `pipelines`.
 * `type x` allows `import type` alone.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  // The errors themselves too: to say that a word is no command must not cost loading the library.
  cli: [
    'pipelines',
    'service',
    'fleet',
    'errors',
    'disk-error',
    'hide-secrets',
    'hints',
    'make-folder',
    'quantities',
    'text',
  ],
  pipelines: ['index'],
  index: [
    'notify',
    'run',
    'source',
    'spool',
    'stages',
    'report',
    'delta',
    'load',
    'duckdb',
    'hints',
    ...middle,
    ...base,
    'type run-context',
  ],
  notify: ['report', 'api', 'files', 'progress', 'type checkpoint', 'type config', 'streams', ...base],
  page: ['type checkpoint', 'report', ...base],
  run: [
    'page',
    'hints',
    'source',
    'spool',
    'stages',
    'report',
    'delta',
    'load',
    'duckdb',
    ...middle,
    ...base,
    'type run-context',
  ],
  stages: ['source', 'report', 'delta', 'duckdb', ...middle, ...base, 'type run-context'],
  report: [
    'type load',
    'type api',
    'reuse',
    'results',
    'checkpoint',
    'files',
    'streams',
    'config',
    ...base,
    'type run-context',
  ],
  'run-context': ['delta', 'load', ...middle, ...base].map((name) => `type ${name}`),
  reuse: ['results', 'source', 'files', 'csv', 'streams', 'kernel', ...base],
  load: ['results', 'config', 'duckdb', 'postgres', ...base],
  spool: ['source', 'type files', 'duckdb', 'postgres', 'config', 'streams', ...base],
  duckdb: ['type output-format', 'sql-text', 'text', 'errors'],
  postgres: ['config', 'errors', 'text'],
  delta: ['csv', 'streams', 'kernel', 'type files', 'make-folder', 'types', 'errors'],
  results: ['source', 'csv', 'streams', 'type checkpoint', ...base],
  files: ['streams', 'config', 'postgres', ...base],
  api: ['node-http', 'streams', ...base],
  service: [
    'check-call',
    'csv',
    'streams',
    'sqlite-driver',
    'nearest-name',
    'quantities',
    'disk-error',
    'make-folder',
    'types',
    'errors',
  ],
  fleet: ['checkpoint', 'postgres', 'config', 'hints', 'node-http', ...base],
  checkpoint: [
    'type output-format',
    'type config',
    'postgres',
    'streams',
    'sqlite-driver',
    'disk-error',
    'make-folder',
    'failure-reasons',
    'quantities',
    'types',
    'errors',
  ],
  source: ['csv', 'streams', 'quantities', 'text', 'nearest-name', 'disk-error', 'types', 'errors'],
  csv: ['streams', 'kernel', 'text', 'types', 'errors'],
  progress: ['type checkpoint', 'streams', 'logger', 'text', 'types', 'errors'],
  streams: ['kernel', 'types', 'errors'],
  config: [
    'check-call',
    'output-format',
    'text',
    'loopback',
    'nearest-name',
    'quantities',
    'hide-secrets',
    'types',
    'errors',
  ],
  'node-http': [],
  'sqlite-driver': ['errors'],
  errors: ['text', 'type types'],
  'check-call': ['streams', 'errors', 'text'],
  'disk-error': ['errors'],
  'make-folder': [],
  text: [],
  loopback: [],
  'sql-text': [],
  'source-types': [],
  types: ['type source-types'],
  kernel: ['errors'],
  logger: [],
  failpoints: [],
  'failure-reasons': ['type types'],
  'hide-secrets': [],
  'output-format': [],
  hints: ['postgres', 'text', 'errors'],
  'nearest-name': [],
  quantities: ['type types'],
};

/** Packages that only some folders may know. */
const packages: Readonly<Record<string, readonly string[]>> = {
  // Its types alone; only the driver's file loads it.
  'better-sqlite3': ['src/sqlite-driver.ts', 'src/checkpoint/', 'src/service/store/'],
  'form-data-encoder': ['src/api/'],
  hpagent: ['src/api/'],
  commander: ['src/cli/'],
  pino: ['src/cli/'],
  'pino-pretty': ['src/cli/'],
  fastify: ['src/service/'],
  zod: ['src/config/', 'src/api/', 'src/service/'],
  '@aws-sdk/client-s3': ['src/files/s3/'],
  pg: ['src/postgres/'],
  'pg-copy-streams': ['src/postgres/'],
  'iconv-lite': ['src/csv/', 'src/source/', 'src/config/'],
  'fastest-levenshtein': ['src/nearest-name.ts'],
  bytes: ['src/quantities.ts'],
  ms: ['src/quantities.ts'],
  'p-limit': ['src/streams/'],
  '@observablehq/plot': ['src/page/'],
  linkedom: ['src/page/'],
  'p-retry': ['src/api/'],
  'prom-client': ['src/notify/', 'src/fleet/'],
};

interface Import {
  readonly from: string;
  /** A file of ours, or a package's name. */
  readonly to: string;
  readonly isOurs: boolean;
  readonly isTypeOnly: boolean;
}

const files = ['src', 'pipelines'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name)),
);
const text = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
const imports = files.flatMap(importsOf);

function importsOf(from: string): Import[] {
  const statement =
    /^(?:import|export)\s+(type\s)?(?:[\w*\s{},]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;
  return [...text.get(from)!.matchAll(statement)].map(([, type, named, called]) => {
    const name = (named ?? called)!;
    const isOurs = name.startsWith('.');
    // AssemblyScript's compiler wants no ending.
    const file = from.includes('/assembly/') ? `${name}.ts` : name.replace(/\.js$/, '.ts');
    const to = isOurs ? normalize(join(dirname(from), file)) : packageOf(name);
    return { from, to, isOurs, isTypeOnly: type !== undefined };
  });
}

/** The files that export a stage: what a pipeline hands to `runStages` (but for a stage's own arguments), and the scan. */
function stageFiles(): string[] {
  const names = new Set(['scanSource']);
  for (const [file, source] of text) {
    if (layerOf(file) !== 'pipelines') continue;
    for (const [call] of source.matchAll(/\brunStages\([^;]*;/g))
      for (const [, name] of call.matchAll(/(?<!chunk\) => )\b(\w+)\(run\b/g)) names.add(name!);
  }
  const exported = [...names].map((name) => new RegExp(`^export (?:async )?function\\*? ${name}\\b`, 'm'));
  return files.filter((file) => exported.some((name) => name.test(text.get(file)!)));
}

function packageOf(name: string): string {
  return name.startsWith('@') ? name.split('/').slice(0, 2).join('/') : name.split('/')[0]!;
}

/** The layer that a file belongs to. */
function layerOf(file: string): string {
  return file.startsWith('pipelines/') ? 'pipelines' : file.split('/')[1]!.replace(/\.ts$/, '');
}

function mayImport({ from, to, isTypeOnly }: Import): boolean {
  const [layer, target] = [layerOf(from), layerOf(to)];
  const names = allowed[layer] ?? [];
  return layer === target || names.includes(target) || (isTypeOnly && names.includes(`type ${target}`));
}

const arrows = (found: readonly Import[]) => found.map(({ from, to }) => `${from} -> ${to}`);

describe('imports', () => {
  it('are found', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(arrows(imports)).toContain('pipelines/enrich.ts -> src/index.ts');
    expect(arrows(imports)).toContain('src/cli.ts -> src/cli/main.ts');
    const ours = imports.filter(({ isOurs, to }) => isOurs && !to.endsWith('.json'));
    expect(arrows(ours.filter(({ to }) => !text.has(to)))).toEqual([]);
  });

  it('point down only', () => {
    const ours = imports.filter(({ isOurs, to }) => isOurs && text.has(to));
    expect(arrows(ours.filter((one) => !mayImport(one)))).toEqual([]);
  });

  it('never go from one stage to another', () => {
    const stages = stageFiles();
    expect(stages).toContain('src/stages/submit/submit-chunks.ts');
    expect(stages.length).toBeGreaterThan(8);
    const between = imports.filter(
      ({ from, to, isTypeOnly }) => stages.includes(from) && stages.includes(to) && !isTypeOnly,
    );
    expect(arrows(between)).toEqual([]);
  });

  it('of the file system stand in no stage, report or pipeline: they use what a run is given', () => {
    const users = imports.filter(({ to, isOurs }) => !isOurs && /^node:fs\b/.test(to));
    expect(users.length).toBeGreaterThan(10);
    const above = users.filter(({ from }) =>
      ['stages', 'report', 'pipelines', 'run-context'].includes(layerOf(from)),
    );
    expect(arrows(above)).toEqual([]);
  });

  it('load the HTTP module of Node in one file, which spares the memory of what nobody uses', () => {
    const loading = imports.filter(({ to, isTypeOnly }) => to === 'node:http' && !isTypeOnly);
    expect(arrows(loading)).toEqual(['src/node-http.ts -> node:http']);
  });

  it('of an implementation of a port stand in no stage, report or pipeline either', () => {
    const implementation = new RegExp(
      `^src/(?:${[
        'checkpoint/(?:sqlite|postgres|journal|recovery|copy|rows)/',
        'files/(?:s3|postgres)/',
        'files/(?:local|shared|folder-output|create-output)-',
        '(?:reuse|delta)/(?:local|shared)-',
        'load/(?:postgres|duckdb)/',
        'api/(?:open-prediction-api|http-client|send-request)',
        'postgres/',
      ].join('|')})`,
    );
    const users = imports.filter(({ to }) => implementation.test(to));
    expect(users.filter(({ from }) => layerOf(from) === 'run').length).toBeGreaterThan(10);
    const above = users.filter(({ from }) =>
      ['stages', 'report', 'pipelines', 'run-context'].includes(layerOf(from)),
    );
    expect(arrows(above)).toEqual([]);
  });

  it('make no circle, types included', () => {
    const targets = new Map(files.map((file) => [file, imports.filter(({ from }) => from === file)]));
    const ended = new Set<string>();
    const circles: string[] = [];
    const walk = (file: string, path: readonly string[]) => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' -> '));
      if (ended.has(file) || path.includes(file)) return;
      for (const { to } of targets.get(file) ?? []) walk(to, [...path, file]);
      ended.add(file);
    };
    for (const file of files) walk(file, []);
    expect(circles).toEqual([]);
  });

  it.each(Object.entries(packages))('of %s stand in their folders alone', (name, folders) => {
    const users = imports.filter(({ to, isOurs }) => !isOurs && to === name);
    expect(users.length).toBeGreaterThan(0);
    expect(arrows(users.filter(({ from }) => !folders.some((folder) => from.startsWith(folder))))).toEqual(
      [],
    );
  });
});

it('better-sqlite3 is loaded by the file that chooses it alone', () => {
  const folders = ['src', 'pipelines', 'test', 'bench'];
  const all = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  const loads = /^import (?!type\b).*'better-sqlite3'|(?:require|import|load)\('better-sqlite3'/m;
  const loading = all.filter(
    (file) =>
      /\.[jt]s$/.test(file) &&
      !file.includes('node_modules') &&
      loads.test(readFileSync(join(root, file), 'utf8')),
  );
  expect(loading).toEqual(['src/sqlite-driver.ts']);
});

describe('a file', () => {
  it('outside the command line knows no process and no console', () => {
    // Which driver runs depends on Node's version, whoever asks; a lock names the process that holds it.
    const lock = 'src/checkpoint/sqlite/lock-file.ts';
    const shy = files.filter((file) => !['cli', 'sqlite-driver'].includes(layerOf(file)) && file !== lock);
    const uses = shy.filter((file) =>
      /\b(?:process\.[a-z]|console\.[a-z])|node:process/.test(withoutComments(text.get(file)!)),
    );
    expect(uses).toEqual([]);
  });

  it('that writes to stdout or stderr is one, besides the entry: there a lost reader ends the writing and nothing else', () => {
    const writes = /\bprocess\.(?:stdout|stderr)|console\.[a-z]|\/dev\/std(?:out|err)|\bwriteSync\([12]\b/;
    const uses = files.filter((file) => writes.test(withoutComments(text.get(file)!)));
    // The entry says that the program cannot be loaded.
    expect(uses).toEqual(['src/cli.ts', 'src/cli/output.ts']);
  });

  it("that makes folders does so level by level: Node's recursive mkdir never returns in some places", () => {
    const makes = files.filter((file) => /\bmkdir(?:Sync)?\(/.test(withoutComments(text.get(file)!)));
    expect(makes).toEqual(['src/make-folder.ts']);
  });

  it('has 300 lines at most', () => {
    expect(files.filter((file) => lengthOf(file) > 300)).toEqual([]);
  });

  it('has 40 lines at least, unless three others import it or its folder is a list of its kind', () => {
    const importers = (file: string) =>
      new Set(imports.filter(({ to }) => to === file).map(({ from }) => from));
    const lists = ['pipelines/', 'src/cli/commands/', 'src/service/routes/'];
    const small = files.filter((file) => lengthOf(file) < 40 && importers(file).size < 3);
    const entries = ['src/cli.ts', 'src/service.ts', 'src/kernel/assembly/index.ts'];
    expect(
      small.filter((file) => !entries.includes(file) && !lists.some((list) => file.startsWith(list))),
    ).toEqual([]);
  });

  it('exports by name only', () => {
    expect(files.filter((file) => /^export default/m.test(text.get(file)!))).toEqual([]);
  });
});

function lengthOf(file: string): number {
  return text.get(file)!.split('\n').length - 1;
}

function withoutComments(source: string): string {
  return source.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
}

it('the table names every layer there is', () => {
  const layers = new Set(files.map(layerOf));
  expect([...layers].filter((layer) => allowed[layer] === undefined)).toEqual([]);
});
