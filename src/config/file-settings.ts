/** Reads a YAML file into settings, each with its line. */
import { isUtf8 } from 'node:buffer';
import { readdirSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { type Alias, type Document, isNode, LineCounter, parseDocument, visit, type YAMLError } from 'yaml';
import { ConfigError } from '../errors.js';
import { nearestName } from '../nearest-name.js';
import { showText } from '../text.js';
import type { Problems } from './problems.js';
import { describeReadError, readSmallFile } from './read-small-file.js';
import { type Key, type Setting, toSettings } from './settings.js';

const MAX_BYTES = 1024 * 1024;

/**
 * @param file path as the user gave it, relative to `cwd`. Problems show this path.
 * @param problems gets YAML errors by line, without the text, which may hold a token.
 * @throws ConfigError `CONFIG_UNREADABLE` when the file cannot be read.
 */
export function readSettings(file: string, cwd: string, problems: Problems): Setting[] {
  const path = resolve(cwd, file);
  const bytes = readBytes(path, file);
  if (!isUtf8(bytes)) {
    problems.add(file, 'is not UTF-8; save it as UTF-8');
    return [];
  }
  const lines = new LineCounter();
  const document = parseDocument(bytes.toString(), {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
  });
  const problem = [...document.errors, ...document.warnings][0];
  if (problem) {
    const text = bareVariable(bytes.toString(), problem.pos[0]) ?? yamlProblem(problem);
    problems.add(`${file}:${lines.linePos(problem.pos[0]).line}`, text);
    return [];
  }
  const alias = unresolvedAlias(document);
  if (alias?.range) {
    problems.add(
      `${file}:${lines.linePos(alias.range[0]).line}`,
      'is not YAML: a text that begins with * must be in quotes, or its anchor & is missing before it',
    );
    return [];
  }
  const baseDir = dirname(path);
  return toSettings(toValue(document, file, problems), [], (key) => {
    const line = lineOf(document, key, lines);
    return { label: line === undefined ? file : `${file}:${line}`, baseDir };
  });
}

const NAME_IT = 'name the file with --config, or run in the folder of foliopipe.yaml';

function readBytes(path: string, file: string): Buffer {
  try {
    return readSmallFile(path, MAX_BYTES);
  } catch (cause) {
    const { code, words } = describeReadError(cause);
    const meant = code === 'ENOENT' ? nearestFile(path) : undefined;
    throw new ConfigError('CONFIG_UNREADABLE', `the config file ${file} cannot be read: ${words}`, {
      hint: meant === undefined ? NAME_IT : `did you mean ${showText(meant)}? it is in the same folder`,
      facts: { file: path, reason: code },
      cause,
    });
  }
}

/** A config in the same folder with nearly the same name. */
function nearestFile(path: string): string | undefined {
  try {
    const configs = readdirSync(dirname(path)).filter((name) => /\.(?:ya?ml|json)$/.test(name));
    return nearestName(basename(path), configs);
  } catch {
    return undefined;
  }
}

/** Converts a document into values. Reports a document with too many aliases, which only this step finds. */
function toValue(document: Document, file: string, problems: Problems): unknown {
  try {
    return document.toJS();
  } catch (error) {
    problems.add(file, yamlProblem(error));
    return undefined;
  }
}

function lineOf(document: Document, key: Key, lines: LineCounter): number | undefined {
  const node = document.hasIn(key) ? document.getIn(key, true) : undefined;
  return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined;
}

/** The first reference `*name` without an anchor `&name` before it. The parser reports it only when it makes values. */
function unresolvedAlias(document: Document): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias: (_key, alias) => {
      if (alias.resolve(document) !== undefined) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

/** The problem with `${VAR}` without quotes in a map or list in brackets, where YAML reads its brace as another map. */
function bareVariable(text: string, at: number): string | undefined {
  const name = /^\$\{(\w+)/.exec(text.slice(Math.max(at - 1, 0), at + 100))?.[1];
  return name && `is not YAML: within { } and [ ], a text with a variable must be in quotes: "\${${name}}"`;
}

/** The problem with a YAML text. Does not quote the text, which may hold a token. */
function yamlProblem(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? (error.code as YAMLError['code']) : undefined;
  const message = error instanceof Error ? error.message : '';
  return `is not YAML: ${(code && YAML_PROBLEMS[code]) ?? withoutSource(message)}`;
}

/** Messages for common mistakes. Other mistakes get the parser's message. */
const YAML_PROBLEMS: Partial<Record<YAMLError['code'], string>> = {
  BAD_DQ_ESCAPE: 'a backslash within double quotes means something else; write single quotes around the text',
  BAD_INDENT: 'the line is indented differently from its neighbours, or a bracket before it is never closed',
  BAD_SCALAR_START: 'a text that begins with @ or ` must be in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a text with a colon and a space in it must be in quotes, and the keys of a map must begin in the same column',
  DUPLICATE_KEY: 'the same key appears twice in a map',
  MISSING_CHAR: 'a quote or a bracket is never closed, or a colon is missing after a key',
  MULTIPLE_DOCS: 'a file can hold only one document; remove the line ---',
  TAB_AS_INDENT: 'tabs cannot indent a line; write spaces',
  TAG_RESOLVE_FAILED: 'a text that begins with ! must be in quotes',
  UNEXPECTED_TOKEN: 'there is something after the end of a text or a bracket',
};

/** Removes the quoted source from a message of the parser, which puts it after a colon or in quotes. */
function withoutSource(message: string): string {
  return message.replace(/(:| ?["'`]).*/s, '');
}
