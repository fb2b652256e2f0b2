/**
 * Writes the declarations that the package publishes into `dist/types`: of the files that tsc has made, what the entries
 * reach, declaration by declaration. So they name no package that a program without foliopipe's own dependencies lacks,
 * except Node's types. Types that zod infers are written out.
 * `node types.js --check` writes nothing, and fails if an entry exports something that has no comment.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { dirname, join, normalize, relative } from 'node:path';

/** Their files, and the names by which programs import them. */
const ENTRIES = { 'pipelines/index.d.ts': 'foliopipe', 'src/service.d.ts': 'foliopipe/service' };
/** Exported types that zod infers, and the files that hold them. */
const INFERRED = {
  Config: 'src/config/schema.d.ts',
  ConfigInput: 'src/config/schema.d.ts',
  ParsedConfig: 'src/config/schema.d.ts',
  LoadConfig: 'src/config/sections/load-section.d.ts',
  FaultPlan: 'src/service/faults/rule.d.ts',
};

const files = new Map();
const kept = new Map();
/** What the entries export. */
const published = new Set();
const written = writeOut();
for (const entry of Object.keys(ENTRIES)) keepAll(entry);
if (process.argv.includes('--check')) {
  const documented = new Set([...published].filter(({ doc }) => doc !== '').map(({ name }) => name));
  const names = new Set([...published].map(({ name }) => name));
  const undocumented = [...names].filter((name) => !documented.has(name));
  if (undocumented.length > 0) console.log(`without a comment: ${undocumented.join(', ')}`);
  process.exitCode = undocumented.length > 0 ? 1 : 0;
} else {
  rmSync('dist/types', { recursive: true, force: true });
  for (const [file, statements] of kept) write(file, statements);
}

/** Keeps whatever an entry, or a file that it exports as a whole, exports, and what that needs. */
function keepAll(file) {
  const { statements, reexports } = read(file);
  keptOf(file);
  for (const statement of statements.filter(({ text }) => /^export /.test(text))) {
    published.add(statement);
    keepStatement(file, statement);
  }
  for (const reexport of reexports) {
    const { from, names } = reexport;
    keptOf(file).add(reexport);
    if (names === undefined) keepAll(from);
    else for (const { name } of names) for (const statement of keep(from, name)) published.add(statement);
  }
}

/** Keeps what a file exports, or holds, under a name. @returns its declarations. */
function keep(file, name) {
  const { statements, reexports } = read(file);
  const own = statements.filter((statement) => statement.name === name);
  for (const statement of own) keepStatement(file, statement);
  if (own.length > 0) return own;
  for (const reexport of reexports) {
    const found = nameIn(reexport, name);
    if (found === undefined) continue;
    keptOf(file).add(reexport);
    return keep(reexport.from, found);
  }
  throw new Error(`${file} exports no ${name}`);
}

/** The name in the other file of what is exported again as `name`; undefined if it is not there. */
function nameIn({ from, names }, name) {
  if (names !== undefined) return names.find(({ as }) => as === name)?.name;
  const { statements, reexports } = read(from);
  const isThere =
    statements.some((statement) => statement.name === name) ||
    reexports.some((each) => nameIn(each, name) !== undefined);
  return isThere ? name : undefined;
}

function keepStatement(file, statement) {
  if (keptOf(file).has(statement)) return;
  keptOf(file).add(statement);
  const { statements, imports } = read(file);
  const local = new Set(statements.map((each) => each.name));
  for (const name of wordsOf(statement.text)) {
    if (local.has(name)) keep(file, name);
    const imported = imports.get(name);
    if (imported?.file !== undefined) keep(imported.file, imported.name);
    else if (imported !== undefined && !isBuiltin(imported.from)) {
      throw new Error(`${file} publishes ${statement.name} with ${name} of ${imported.from}`);
    }
  }
  for (const [, from, name] of statement.text.matchAll(/\bimport\("([^"]+)"\)\.(\w+)/g)) {
    if (from.startsWith('.')) keep(besides(file, from), name);
    else if (!isBuiltin(from)) throw new Error(`${file} publishes ${statement.name} with ${name} of ${from}`);
  }
}

function keptOf(file) {
  if (!kept.has(file)) kept.set(file, new Set());
  return kept.get(file);
}

function write(file, keptHere) {
  const { statements, imports, reexports } = read(file);
  const shown = statements.filter((statement) => keptHere.has(statement));
  const used = new Set(shown.flatMap(({ text }) => [...wordsOf(text)]));
  const lines = [...imports].filter(([name]) => used.has(name)).map(([, { text }]) => text);
  const again = reexports.filter((one) => keptHere.has(one));
  const head = file in ENTRIES ? [`/** @module ${ENTRIES[file]} */`] : [];
  const body = [
    ...head,
    ...lines,
    ...again.map(({ text }) => text),
    ...shown.map(({ doc, text }) => doc + text),
  ];
  const path = join('dist/types', file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${[...body, 'export {};'].join('\n')}\n`);
}

/** The statements of a file: each begins at the left margin, as tsc writes them. */
function read(file) {
  if (!files.has(file)) files.set(file, parse(file, readFileSync(join('dist', file), 'utf8')));
  return files.get(file);
}

function parse(file, content) {
  const parsed = { statements: [], imports: new Map(), reexports: [] };
  const begins = /^(?:\/\*\*|import\b|export\b|declare\b|interface\b|type\b)/;
  // A comment within a type stands at the left margin too: before `{` after a `=`, and before a further ` | {`.
  const isWithin = (piece, before) => /=\s*$/.test(before ?? '') || /\*\/\s*\n\s+[|&]/.test(piece);
  const pieces = content.split(/\n(?=\S)/).reduce((all, piece) => {
    if (all.length === 0 || (begins.test(piece) && !isWithin(piece, all.at(-1)))) all.push(piece);
    else all[all.length - 1] += `\n${piece}`;
    return all;
  }, []);
  let doc = '';
  for (const piece of pieces) {
    if (piece.startsWith('/**')) {
      doc = `${piece.trimEnd()}\n`;
      continue;
    }
    parseStatement(file, piece.trimEnd(), doc, parsed);
    doc = '';
  }
  return parsed;
}

function parseStatement(file, text, doc, parsed) {
  const imported = /^import (type )?(\w+)?(?:, )?(?:\{([^}]*)\})?(?:\* as (\w+))? ?from '([^']+)';/.exec(
    text,
  );
  if (imported !== null) {
    const [, , whole, list = '', space, from] = imported;
    const to = from.startsWith('.') ? besides(file, from) : undefined;
    const add = (name, as, shown) =>
      parsed.imports.set(as, { file: to, from, name, text: `import ${shown} from '${from}';` });
    if (whole) add('default', whole, whole);
    if (space) add('*', space, `* as ${space}`);
    for (const { name, as } of namesIn(list)) add(name, as, `{ ${name === as ? name : `${name} as ${as}`} }`);
    return;
  }
  const reexported = /^export (?:type )?(\*|\{[^}]*\}) from '([^']+)';/.exec(text);
  if (reexported !== null) {
    const [, what, from] = reexported;
    const names = what === '*' ? undefined : namesIn(what.slice(1, -1));
    parsed.reexports.push({ text, from: besides(file, from), names });
    return;
  }
  if (text === 'export {};') return;
  const named =
    /^(?:export )?(?:declare )?(?:abstract )?(?:class|const|function|interface|type|enum) (\w+)/.exec(text);
  if (named === null) throw new Error(`${file} has a statement of another kind: ${text.slice(0, 80)}`);
  const [, name] = named;
  parsed.statements.push({ doc, text: INFERRED[name] === file ? written[name] : text, name });
}

function namesIn(list) {
  return list
    .split(',')
    .map((each) => each.trim().replace(/^type /, ''))
    .filter((each) => each !== '')
    .map((each) => {
      const [name, as = name] = each.split(' as ');
      return { name, as };
    });
}

/** The words of a declaration that may name another one. */
function wordsOf(text) {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/import\("[^"]*"\)\.\w+/g, '');
  return new Set(code.match(/[A-Za-z_$][\w$]*/g));
}

function besides(file, from) {
  return normalize(join(dirname(file), from.replace(/\.js$/, '.d.ts')));
}

/** What zod infers, written out by the compiler: it writes the type of a value in full. */
function writeOut() {
  const folder = 'dist/inferred';
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const names = Object.keys(INFERRED);
  const imports = Object.entries(INFERRED).map(
    ([name, file]) => `import type { ${name} } from '../${file.replace(/\.d\.ts$/, '.js')}';\n`,
  );
  const values = names.map((name) => `export const of${name} = plain<${name}>();\n`);
  const source = `${imports.join('')}type Plain<T> = T extends string | number | boolean | null | undefined | { toJSON(): string }
  ? T
  : T extends readonly (infer E)[]
    ? readonly Plain<E>[]
    : { readonly [K in keyof T]: Plain<T[K]> } & {};
declare function plain<T>(): Plain<T>;
${values.join('')}`;
  writeFileSync(join(folder, 'inferred.ts'), source);
  const flags =
    '--ignoreConfig --strict --exactOptionalPropertyTypes --skipLibCheck --types node --target es2023';
  const emit = `--module nodenext --declaration --emitDeclarationOnly --rootDir dist --outDir ${folder}`;
  const tsc = join('node_modules', 'typescript', 'bin', 'tsc');
  execFileSync(process.execPath, [tsc, ...`${flags} ${emit} ${folder}/inferred.ts`.split(' ')], {
    stdio: 'inherit',
  });
  const made = readFileSync(join(folder, 'inferred/inferred.d.ts'), 'utf8');
  const types = made.split(/^export declare const of\w+: /m).slice(1);
  rmSync(folder, { recursive: true });
  return Object.fromEntries(
    Object.entries(INFERRED).map(([name, file], at) => {
      const text = types[at]
        .replace(/\nexport \{\};\s*$/, '')
        .replaceAll(/import\("\.\.\/([^"]+)"\)/g, (_, to) => {
          const path = relative(dirname(file), to);
          return `import("${path.startsWith('.') ? path : `./${path}`}")`;
        });
      return [name, `export type ${name} = ${text.trimEnd()}`];
    }),
  );
}
