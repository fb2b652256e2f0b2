/** Checks a tree section by section, so that a problem in one does not hide those of another. */

import type { z } from 'zod';
import { shorten } from '../text.js';
import { expectedAt, keysOf, unknownKey } from './known-keys.js';
import { configSchema, type ParsedConfig } from './schema.js';
import type { Key, Tree } from './settings.js';

/** The sections that were right. With no problem told, these are all. */
export type Sections = Partial<ParsedConfig>;

/**
 * @param writtenAt gives a value as it was written, to be shown in a problem.
 * @param onProblem is told of every unknown key and every value that the schema refuses.
 */
export function parseSections(
  tree: Tree,
  writtenAt: (key: Key) => unknown,
  onProblem: (key: Key, text: string) => void,
): Sections {
  const sections: Record<string, unknown> = {};
  for (const name of Object.keys(tree)) {
    if (!Object.hasOwn(configSchema.shape, name)) onProblem([name], unknownKey([name]));
  }
  for (const [name, schema] of Object.entries(configSchema.shape)) {
    const value = tree[name] ?? (keysOf([name]) ? {} : undefined);
    const result = schema.safeParse(value);
    if (result.success) sections[name] = result.data;
    for (const issue of result.error?.issues ?? []) {
      for (const { key, text } of describeIssue(issue, name, writtenAt)) onProblem(key, text);
    }
  }
  return sections;
}

// Says what is wrong with a value: what was expected, and what was got unless that may be a secret.

/** The message that zod gives to an issue without one of its own. */
const NO_MESSAGE = 'Invalid input';

const SHOWN_AT_MOST = 60;

export interface Described {
  readonly key: Key;
  readonly text: string;
}

/**
 * Turns an issue of the schema into problems.
 * @param writtenAt gives the value as it was written, with no variable put in yet.
 */
function describeIssue(
  issue: z.core.$ZodIssue,
  section: string,
  writtenAt: (key: Key) => unknown,
): Described[] {
  const key = [section, ...issue.path.map(String)];
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((name) => ({ key: [...key, name], text: unknownKey([...key, name]) }));
  }
  if (issue.code === 'custom' && issue.message !== NO_MESSAGE) return [{ key, text: issue.message }];
  const written = writtenAt(key);
  const expected = expectedAt(key);
  if (written === undefined) return [{ key, text: `is missing; expected ${expected}` }];
  return [{ key, text: `expected ${expected}, got ${show(written, mayBeSecret(key))}` }];
}

/** A token may also stand where the section should. */
function mayBeSecret(key: Key): boolean {
  return key[0] === 'service' && (key.length === 1 || key[1] === 'token');
}

function show(value: unknown, secret: boolean): string {
  if (value === '') return 'an empty text';
  if (Array.isArray(value) && value.length === 0) return 'an empty list';
  if (Array.isArray(value))
    return secret || value.some(isMapOrList)
      ? 'a list'
      : `the list ${shortened(withoutCredentials(JSON.stringify(value)))}`;
  if (isMapOrList(value)) return 'a map';
  if (secret)
    return typeof value === 'string'
      ? 'a text that is not shown'
      : `a ${typeof value} without quotes, not shown`;
  if (typeof value !== 'string') return String(value);
  const shown = JSON.stringify(shortened(withoutCredentials(value)));
  return value.includes('${') ? `${shown}, whose value is not shown` : shown;
}

function isMapOrList(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function shortened(text: string): string {
  return shorten(text, SHOWN_AT_MOST, { keep: SHOWN_AT_MOST, ellipsis: '...' });
}

/** Addresses are written with user, password or token in them by mistake. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/.*@/s, '//...@').replace(/:\/\/([^?#]*)[?#].*/s, '://$1?...');
}
