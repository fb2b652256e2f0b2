/** Reads and checks fault rules, from a YAML file or as data. One message lists all problems with their lines. */
import { readFile } from 'node:fs/promises';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { ConfigError } from '../../errors.js';
import { type FaultPlan, faultPlanSchema } from './rule.js';

const EXAMPLES = 'docs/faults.md shows every fault with an example';

/** @throws ConfigError `FAULTS_UNREADABLE`, or `FAULTS_INVALID` that lists every problem. */
export async function readFaults(file: string): Promise<FaultPlan> {
  return parseText(await readText(file), (line) => (line === undefined ? file : `${file}:${line}`));
}

/**
 * The fault rules of `docs/faults.md`, from the text of a YAML file or as data.
 * @param given a YAML text; or `{ seed, rules }`, with durations such as `30s` and shares such as `10%`.
 * @returns the plan, for `openService` and `setFaults`.
 * @throws ConfigError `FAULTS_INVALID` that lists every problem, those of a text with their lines.
 */
export function parseFaults(given: unknown): FaultPlan {
  if (typeof given !== 'string') return checkPlan(given, () => undefined);
  return parseText(given, (line) => (line === undefined ? undefined : `line ${line}`));
}

function parseText(text: string, place: (line?: number) => string | undefined): FaultPlan {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const broken = document.errors[0];
  if (broken !== undefined) {
    const { line } = lines.linePos(broken.pos[0]);
    throw new ConfigError('FAULTS_INVALID', `${place(line)} is not YAML: ${broken.message}`, {
      hint: EXAMPLES,
      facts: { line },
    });
  }
  return checkPlan(contentOf(document), (path) => place(lineOf(document, path, lines)));
}

/** An alias may name nothing, or so much that the library refuses it. */
function contentOf(document: Document): unknown {
  try {
    return document.toJS();
  } catch (cause) {
    throw new ConfigError('FAULTS_INVALID', `the faults are not YAML: ${(cause as Error).message}`, {
      hint: EXAMPLES,
      cause,
    });
  }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new ConfigError('FAULTS_UNREADABLE', `the faults cannot be read from ${file}`, {
      hint: 'name a YAML file; config/faults.example.yaml is one',
      facts: { path: file },
      cause,
    });
  }
}

/** The line of a key, or of the nearest map around it when the key is missing. */
function lineOf(document: Document, path: readonly PropertyKey[], lines: LineCounter): number | undefined {
  for (let size = path.length; size > 0; size--) {
    const node = document.getIn(path.slice(0, size), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}

/** Gives the position of a key for messages; undefined if it is unknown. */
type Locate = (path: readonly PropertyKey[]) => string | undefined;

/** @returns the plan, with durations in milliseconds. */
function checkPlan(given: unknown, locate: Locate): FaultPlan {
  const parsed = faultPlanSchema.safeParse(given);
  if (parsed.success) return parsed.data;
  const problems = new Map<string, string>();
  for (const { path, message } of parsed.error.issues) {
    const key = keyText(path);
    const position = locate(path);
    // Only the first problem of a key, because later ones follow from it.
    if (!problems.has(key)) problems.set(key, `${message}${position === undefined ? '' : ` (${position})`}`);
  }
  const lines = [...problems].map(([key, problem]) => `\n  ${key}: ${problem}`);
  const count = lines.length === 1 ? 'a problem' : `${lines.length} problems`;
  throw new ConfigError('FAULTS_INVALID', `the faults have ${count}:${lines.join('')}`, {
    hint: EXAMPLES,
  });
}

/** Such as `rules[1].fault.stall`. */
function keyText(path: readonly PropertyKey[]): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return text === '' ? 'the file' : text.replace(/^\./, '');
}
