/** Reads a YAML file into settings, each knowing its line. */
import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '../errors/index.js';
import type { Problems } from './problems.js';
import { readFailure } from './read-failure.js';
import { type Key, type Setting, toSettings } from './setting.js';
import { unresolvedAlias, yamlProblem } from './yaml-problem.js';

/**
 * @param file path as the user gave it, relative to `cwd`; shown like that in problems.
 * @param problems is told of what is not YAML, by line and without the text, which may hold a token.
 * @throws ConfigError `CONFIG_UNREADABLE` where there is no file to read.
 */
export async function readSettings(file: string, cwd: string, problems: Problems): Promise<Setting[]> {
  const path = resolve(cwd, file);
  const bytes = await readBytes(path, file);
  if (!isUtf8(bytes)) {
    problems.add(file, 'is not UTF-8; save it as UTF-8');
    return [];
  }
  const lines = new LineCounter();
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true };
  const document = parseDocument(bytes.toString(), options);
  const problem = [...document.errors, ...document.warnings][0];
  if (problem) {
    problems.add(`${file}:${lines.linePos(problem.pos[0]).line}`, yamlProblem(problem));
    return [];
  }
  const alias = unresolvedAlias(document);
  if (alias?.range) {
    problems.add(
      `${file}:${lines.linePos(alias.range[0]).line}`,
      'is not YAML: a text that begins with * must stand in quotes, or its anchor & is missing before it',
    );
    return [];
  }
  const baseDir = dirname(path);
  return toSettings(toValue(document, file, problems), [], (key) => {
    const line = lineOf(document, key, lines);
    return { label: line === undefined ? file : `${file}:${line}`, baseDir };
  });
}

async function readBytes(path: string, file: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (cause) {
    const { code, words } = readFailure(cause);
    throw new ConfigError('CONFIG_UNREADABLE', `the config file ${file} cannot be read: ${words}`, {
      hint: 'name the file with --config, or run in the folder of foliopipe.yaml',
      facts: { file: path, reason: code },
      cause,
    });
  }
}

/** Too many aliases show only here. */
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
