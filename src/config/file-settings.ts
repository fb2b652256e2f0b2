/** Reads a YAML file into settings, each knowing its line. */
import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '../errors/index.js';
import type { Problems } from './problems.js';
import { type Key, type Setting, toSettings } from './setting.js';

/**
 * @param file path as the user gave it, relative to `cwd`; shown like that in problems.
 * @param problems is told of what is not YAML, by line and without the text, which may hold a token.
 * @throws ConfigError `CONFIG_UNREADABLE` where there is no file to read.
 */
export async function readSettings(file: string, cwd: string, problems: Problems): Promise<Setting[]> {
  const path = resolve(cwd, file);
  const lines = new LineCounter();
  const document = parseDocument(await readText(path, file), { lineCounter: lines, prettyErrors: false });
  const problem = [...document.errors, ...document.warnings][0];
  if (problem) {
    problems.add(
      `${file}:${lines.linePos(problem.pos[0]).line}`,
      `is not YAML: ${withoutSource(problem.message)}`,
    );
    return [];
  }
  const baseDir = dirname(path);
  return toSettings(toValue(document, file, problems), [], (key) => {
    const line = lineOf(document, key, lines);
    return { label: line === undefined ? file : `${file}:${line}`, baseDir };
  });
}

async function readText(path: string, file: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown';
    throw new ConfigError('CONFIG_UNREADABLE', `the config file ${file} cannot be read: ${reason}`, {
      hint: 'name the file with --config, or run in the folder of foliopipe.yaml',
      facts: { file: path, reason },
      cause,
    });
  }
}

/** Aliases without an anchor, or with too many, show only here. */
function toValue(document: Document, file: string, problems: Problems): unknown {
  try {
    return document.toJS();
  } catch (error) {
    problems.add(file, `is not YAML: ${withoutSource(error instanceof Error ? error.message : '')}`);
    return undefined;
  }
}

function lineOf(document: Document, key: Key, lines: LineCounter): number | undefined {
  const node = document.hasIn(key) ? document.getIn(key, true) : undefined;
  return isNode(node) && node.range ? lines.linePos(node.range[0]).line : undefined;
}

/** The parser's messages quote the source after a colon or in quotes. */
function withoutSource(message: string): string {
  return message.replace(/(:| ?["'`]).*/s, '');
}
