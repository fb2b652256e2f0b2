/** Checks a config section by section, so that a problem in one section does not hide those of another. */
import type { z } from 'zod';
import { hasSecretWithin, secretKindOf } from '../hide-secrets.js';
import { expectedAt, keysOf, unknownKey } from './known-keys.js';
import { configSchema, type ParsedConfig } from './schema.js';
import { isMap, type Key, type Tree } from './settings.js';

/** The valid sections. If no problem was reported, these are all sections. */
export type Sections = Partial<ParsedConfig>;

/**
 * @param writtenAt gives a value as it was written, before variables were replaced, to show it in a problem.
 * @param onProblem called for every unknown key and every value that the schema rejects.
 */
export function parseSections(
  tree: Tree,
  writtenAt: (key: Key) => unknown,
  onProblem: (key: Key, text: string) => void,
): Sections {
  const sections: Record<string, unknown> = {};
  const isNothing = (key: Key) => {
    const value = key.reduce<unknown>((map, part) => (isMap(map) ? map[part] : undefined), tree);
    return value === '' || value === null;
  };
  for (const name of Object.keys(tree)) {
    if (!Object.hasOwn(configSchema.shape, name)) onProblem([name], unknownKey([name]));
  }
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    // A section that may be left out as a whole has a default of its own.
    const isOptional = schema.safeParse(undefined).success;
    const value = tree[name] ?? (keysOf([name]) && !isOptional ? {} : undefined);
    const result = schema.safeParse(value);
    if (result.success) sections[name] = result.data;
    for (const issue of result.error?.issues ?? []) {
      for (const { key, text } of describeIssue(issue, name, { writtenAt, isNothing })) onProblem(key, text);
    }
  }
  return sections;
}

interface KeyProblem {
  readonly key: Key;
  readonly text: string;
}

/** zod's message for an issue without its own message. */
const NO_MESSAGE = 'Invalid input';

/** Describes an issue: the expected value, and the found value unless it may be a secret. */
function describeIssue(
  issue: z.core.$ZodIssue,
  section: string,
  { writtenAt, isNothing }: { writtenAt(key: Key): unknown; isNothing(key: Key): boolean },
): KeyProblem[] {
  const key = [section, ...issue.path.map(String)];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => ({ key: [...key, name], text: unknownKey([...key, name]) }));
  }
  if (issue.code === 'custom' && issue.message !== NO_MESSAGE) return [{ key, text: issue.message }];
  const written = writtenAt(key);
  const expected = expectedAt(key);
  if (written === undefined) return [{ key, text: `is missing; expected ${expected}` }];
  if (typeof written === 'string' && written.includes('${') && isNothing(key)) {
    return [{ key, text: `expected ${expected}, got an empty text: the variable in it is empty` }];
  }
  const name = key.join('.');
  // By mistake, the value of a whole section may be a secret.
  const mayBeSecret = secretKindOf(name) !== undefined || hasSecretWithin(name);
  return [{ key, text: `expected ${expected}, got ${show(written, mayBeSecret)}` }];
}

function show(value: unknown, secret: boolean): string {
  if (value === '') return 'an empty text';
  if (Array.isArray(value)) return showList(value, secret);
  if (isMapOrList(value)) return 'a map';
  if (secret) {
    if (value === null) return 'nothing';
    return typeof value === 'string'
      ? 'a text that is not shown'
      : `a ${typeof value} without quotes, not shown`;
  }
  if (typeof value !== 'string') return String(value);
  const shown = JSON.stringify(shortened(withoutCredentials(value)));
  return value.includes('${') ? `${shown}, whose value is not shown` : shown;
}

function showList(list: readonly unknown[], secret: boolean): string {
  if (list.length === 0) return 'an empty list';
  if (secret || list.some(isMapOrList)) return 'a list';
  return `the list ${shortened(withoutCredentials(JSON.stringify(list)))}`;
}

function isMapOrList(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

/** The most characters of a value that are shown. */
const MAX_SHOWN = 60;

function shortened(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
}

/** Removes user, password and query, which people put into addresses by mistake. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/.*@/s, '//...@').replace(/:\/\/([^?#]*)[?#].*/s, '://$1?...');
}
