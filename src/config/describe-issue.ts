/** Says what is wrong with a value: what was expected, and what was got unless that may be a secret. */
import type { z } from 'zod';
import { expectedAt, unknownKey } from './known-keys.js';
import type { Key } from './setting.js';

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
export function describeIssue(
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
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  if (secret) return `a ${typeof value} that is not shown`;
  if (typeof value !== 'string') return String(value);
  const text = withoutCredentials(value);
  return JSON.stringify(text.length > SHOWN_AT_MOST ? `${text.slice(0, SHOWN_AT_MOST)}...` : text);
}

/** Addresses are written with user, password or token in them by mistake. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/.*@/s, '//...@').replace(/:\/\/([^?#]*)[?#].*/s, '://$1?...');
}
