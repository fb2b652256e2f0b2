/** Settings from the environment: `FOLIOPIPE_CHUNKS__MAX_RECORDS` is `chunks.maxRecords`. */

import { escapeReferences } from './interpolate.js';
import { nearest, valueKeys } from './known-keys.js';
import type { Problems } from './problems.js';
import { type Key, type Origin, type Setting, toSettings } from './setting.js';
import { textValue } from './text-value.js';

const PREFIX = 'FOLIOPIPE_';
const TOKEN = 'FOLIOPIPE_TOKEN';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Reads every variable that names a key; case and single underscores do not count, an empty variable is
 * as good as none. A name with `__` that is no key is a problem; any other is the user's own, for `${...}`.
 * @param cwd absolute folder to which relative paths are relative.
 */
export function environmentSettings(env: Environment, cwd: string, problems: Problems): Setting[] {
  return Object.entries(env).flatMap(([name, text]) => {
    if (!name.startsWith(PREFIX) || !text) return [];
    const key = valueKeys.find((known) => fold(variableOf(known)) === fold(name));
    if (key) return fromText(key, text, { label: name, baseDir: cwd });
    if (name.slice(PREFIX.length).includes('__')) problems.add(name, unknownVariable(name));
    return [];
  });
}

/** `settings`, with `FOLIOPIPE_TOKEN` as the token where they say nothing of one. */
export function withToken(
  settings: readonly Setting[],
  env: Environment,
  baseDir: string,
): readonly Setting[] {
  const says = ({ key, value }: Setting) =>
    key[0] === 'service' && (key[1] === 'token' || key[1] === 'tokenFile') && value !== null;
  const text = env[TOKEN];
  if (!text || settings.some(says)) return settings;
  const isToken = ({ key }: Setting) => key.join('.') === 'service.token';
  return [
    ...settings.filter((setting) => !isToken(setting)),
    ...fromText(['service', 'token'], text, { label: TOKEN, baseDir }),
  ];
}

/** What stands in a variable is not searched for further variables. */
function fromText(key: Key, text: string, origin: Origin): Setting[] {
  return toSettings(textValue(key, text), key, () => origin).map((setting) =>
    typeof setting.value === 'string' ? { ...setting, value: escapeReferences(setting.value) } : setting,
  );
}

/** `['chunks', 'maxRecords']` as `FOLIOPIPE_CHUNKS__MAX_RECORDS`. */
function variableOf(key: Key): string {
  return PREFIX + key.map((part) => part.replace(/[A-Z]/g, '_$&').toUpperCase()).join('__');
}

function fold(name: string): string {
  return name.toUpperCase().replaceAll('__', '.').replaceAll('_', '');
}

function unknownVariable(name: string): string {
  const meant = nearest(name, valueKeys.map(variableOf));
  return `names no key of the config${meant === undefined ? '' : `, did you mean ${meant}?`}`;
}
