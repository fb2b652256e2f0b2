/**
 * The page of all error codes: reads the sources for each code, its class and its hint, and the docs for the pages that
 * explain it. Writes docs/generated/errors.md when it is run; a test compares the page with the sources.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readOptions } from '../../bench/read-options.js';

const root = join(import.meta.dirname, '../..');
const read = (file) => readFileSync(join(root, file), 'utf8');
const filesIn = (folder, ending) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
    .sort();

const CODE = "'([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|INTERRUPTED|USAGE)'";
/** What a fact stands for in a hint. */
const FACT = '…';

/** The exit code of each class of src/errors.ts. */
function exitCodes() {
  const exits = new Map();
  for (const [, name, base, body] of read('src/errors.ts').matchAll(
    /^export (?:abstract )?class (\w+) extends (\w+) \{(\}|[\s\S]*?^\})/gm,
  )) {
    const [, code] = /exitCode(?: = |: )([\d| ]+)/.exec(body) ?? [];
    exits.set(name, code === undefined ? exits.get(base) : code.trim().replaceAll(' | ', ', '));
  }
  return exits;
}

/** Each place in the sources that gives a code: the code, the class, and where it is in the text. */
function* places(source) {
  const classOf = (text) => /new (\w+Error)\(/.exec(text)?.[1];
  // new XError('CODE', or one of two codes by a condition.
  const direct = new RegExp(`new (\\w+Error)\\(\\s*(?:[^'()]*\\? )?${CODE}(?:\\s*: ${CODE})?`, 'g');
  for (const found of source.matchAll(direct)) {
    for (const code of found.slice(2).filter(Boolean)) yield { code, kind: found[1], at: found.index };
  }
  // Through a function of the file, such as folioError('CODE', ...).
  for (const found of source.matchAll(
    new RegExp(`(?<!new )\\b(\\w+Error|refuse|malformed)\\(\\s*${CODE}`, 'g'),
  )) {
    const body = source.indexOf(`function ${found[1]}(`);
    const kind = body < 0 ? undefined : classOf(source.slice(body));
    if (kind !== undefined) yield { code: found[2], kind, at: found.index };
  }
  // In a table of the file, or chosen before the error is made.
  const made = [...source.matchAll(/new (\w+Error)\(\s*(?:[a-z]\w*\.)?code\b/g)];
  if (made.length === 0) {
    // Another file makes the error of a bad record.
    for (const found of source.matchAll(/^ {2}(SOURCE_[A-Z_]+):\s/gm)) {
      yield { code: found[1], kind: 'SourceError', at: found.index };
    }
    return;
  }
  const rows = new RegExp(
    `\\bcode: ${CODE}|^  ([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+): |code \\?\\? ${CODE}|const code = (?:.*?(?:\\? ${CODE} :|&&) )?${CODE}`,
    'gm',
  );
  for (const found of source.matchAll(rows)) {
    const before = made.filter(({ index }) => index < found.index).at(-1);
    const after = made.find(({ index }) => index > found.index);
    const [, kind] = (found[0].startsWith('const') ? (after ?? before) : (before ?? after)) ?? made[0];
    const entry = source.slice(source.lastIndexOf('{', found.index), found.index);
    for (const code of found.slice(1).filter(Boolean)) {
      // Disk errors that do not pass need a person.
      const isLasting = kind === 'TroubleError' && !entry.includes('passes: true');
      yield { code, kind: isLasting ? 'ConfigError' : kind, at: found.index };
    }
  }
}

/** The texts that a file gives names to, such as GO_ON. */
function constants(source) {
  const found = source.matchAll(
    /^(?:export )?const (\w+)(?:: string)? =\s+(?:'([^']*)'|`([^`]*)`|"([^"]*)");/gm,
  );
  return new Map([...found].map(([, name, plain, template, quoted]) => [name, plain ?? template ?? quoted]));
}

const common = new Map([...constants(read('src/hints.ts')), ...constants(read('src/errors.ts'))]);

/** A text of the sources as a reader sees it. */
function shown(text, named) {
  const filled = text.replaceAll(/(?<!\\)\$\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}/g, (_, inside) => {
    const known = named.get(inside.trim()) ?? common.get(inside.trim());
    return known === undefined ? FACT : shown(known, named);
  });
  // A template within a template is left out.
  return filled
    .replace(/(?<!\\)\$\{.*$/s, FACT)
    .replaceAll(/…+/g, FACT)
    .replaceAll('\\n', ' ')
    .replaceAll(/\\(['"`\\$])/g, '$1')
    .replaceAll('|', '\\|')
    .replaceAll('<', '&lt;')
    .trim();
}

/** The hints of an error, if they are beside its code: two where a condition chooses between two names. */
function hintsAt(source, at, named) {
  const statement = source.slice(at, at + 1500).split(/;\n|^\}/m)[0];
  const [, ...choice] = /hint: \w+ \? ([A-Z_]+) : ([A-Z_]+)\b/.exec(statement) ?? [];
  if (choice.every((name) => named.has(name)) && choice.length > 0) {
    return choice.map((name) => shown(named.get(name), named));
  }
  const literal =
    /(?:hint|^ {2}[A-Z_\d]+):\s*(?:\n\s*)?(?:[^'"`\n,;]*\? )?(?:'((?:[^'\\]|\\.)*)'|`((?:[^`\\]|\\.)*)`|"((?:[^"\\]|\\.)*)"|([A-Z_]+)\b)/m.exec(
      statement,
    );
  if (literal === null) return [];
  const [, plain, template, quoted, name] = literal;
  const text = plain ?? template ?? quoted ?? named.get(name) ?? common.get(name);
  const hint = text === undefined ? '' : shown(text + addedTo(statement, literal), named);
  return hint.replaceAll(FACT, '').length > 15 ? [hint] : [];
}

/** The texts that are added to a text with `+`. */
function addedTo(statement, { 0: found, index }) {
  const rest = statement.slice(index + found.length);
  const [added] = /^(?:\s*\+\s*'[^']*')+/.exec(rest) ?? [''];
  return [...added.matchAll(/'([^']*)'/g)].map(([, text]) => text).join('');
}

/** The hints in src/hints.ts, by code. */
function laterHints() {
  const source = read('src/hints.ts');
  const named = constants(source);
  const hints = new Map();
  for (const [, code, plain, template, name, called] of source.matchAll(
    /^ {2}([A-Z_]+): (?:\([^)]*\) =>\s*(?:'([^']*)'|`([^`]*)`|([A-Z_]+))|(\w+)),/gm,
  )) {
    const body = called && source.slice(source.indexOf(`function ${called}(`));
    const own = called && /(?:\?|return)\s+(?:'([^']*)'|`([^`]*)`)/.exec(body);
    const text = plain ?? template ?? named.get(name) ?? own?.[1] ?? own?.[2];
    if (text !== undefined) hints.set(code, shown(text, named));
  }
  return hints;
}

/** The pages that explain a code, by code. */
function explained() {
  const pages = filesIn('docs', '.md').filter((page) => !/generated|rehearsals/.test(page));
  return (code) =>
    pages
      .filter((page) => {
        const words = read(page).match(/`[A-Z][A-Z0-9_]+\*?`/g) ?? [];
        return words.some(
          (word) => word === `\`${code}\`` || (word.endsWith('*`') && code.startsWith(word.slice(1, -2))),
        );
      })
      .map((page) => page.slice('docs/'.length));
}

/** What docs/failures.md says about a code, by code. */
function cures() {
  const rows = read('docs/failures.md').matchAll(/^\| (`[A-Z].*?) \| (.*) \|$/gm);
  return new Map(
    [...rows].flatMap(([, codes, text]) =>
      [...codes.matchAll(/`([A-Z0-9_]+)`/g)].map(([, code]) => [
        code,
        text.replaceAll(/\]\((?=[\w#])/g, '](../').replaceAll('(../#', '(../failures.md#'),
      ]),
    ),
  );
}

/** Every code with its exit codes, hints and pages. */
export function errorCodes() {
  const exits = exitCodes();
  const hints = laterHints();
  const pagesOf = explained();
  const explanations = cures();
  const codes = new Map();
  // An ambiguous request ends with 7 after a redirect, which has a code of its own, else with 5.
  const exitsOf = (kind, code) =>
    kind === 'AmbiguousUploadError'
      ? [code === 'SERVICE_REDIRECTS' ? '7' : '5']
      : exits.get(kind).split(', ');
  for (const file of [...filesIn('src', '.ts'), ...filesIn('pipelines', '.ts')]) {
    if (file === 'src/hints.ts') continue;
    const source = read(file);
    const named = constants(source);
    for (const { code, kind, at } of places(source)) {
      if (!exits.has(kind)) continue;
      const one = codes.get(code) ?? { code, exits: new Set(), hints: new Set(), pages: pagesOf(code) };
      for (const exit of exitsOf(kind, code)) one.exits.add(exit);
      const beside = hintsAt(source, at, named);
      const found = beside.length > 0 || !hints.has(code) ? beside : [hints.get(code)];
      for (const hint of found) one.hints.add(hint);
      if (found.length === 0) one.hasNoHintHere = true;
      codes.set(code, one);
    }
  }
  for (const one of codes.values()) {
    const text = explanations.get(one.code);
    if (one.hasNoHintHere && text !== undefined) one.hints.add(text);
  }
  return [...codes.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
}

export function errorsPage() {
  const rows = errorCodes().map(({ code, exits, hints, pages }) => {
    const cures = hints.size === 0 ? ['the hint of the message says it'] : [...hints];
    const links = pages.map((page) => `[${page}](../${page})`).join(', ');
    return `| \`${code}\` | ${[...exits].sort().join(', ')} | ${cures.join('<br>or: ')} | ${links} |`;
  });
  return `<!-- Generated by: npm run docs:errors. Not written by hand: the sources are. -->

# Error codes

Every error has a code that stays the same, and says what happened, where, and what to do next. \`${FACT}\` stands for what the message names: a file, a key, a number. A code with several lines has several causes. The exit codes are explained in [failures.md](../failures.md#by-exit-code), and for schedulers in [scheduling.md](../scheduling.md#exit-codes). An error without one of these codes is \`UNEXPECTED\`, exit 1: a bug.

| code | exit | what to do | explained in |
|---|---|---|---|
${rows.join('\n')}
`;
}

if (process.argv[1] === import.meta.filename) {
  readOptions('npm run docs:errors', {});
  writeFileSync(join(root, 'docs/generated/errors.md'), errorsPage());
}
