/** Settings from the environment: `FOLIOPIPE_CHUNKS__MAX_RECORDS` is `chunks.maxRecords`. */
import { nearestName } from '../nearest-name.js';
import { textValue } from './flag-settings.js';
import { escapeReferences } from './interpolate.js';
import { valueKeys } from './known-keys.js';
import type { Problems } from './problems.js';
import { type Environment, type Key, type Origin, type Setting, toSettings } from './settings.js';

const PREFIX = 'FOLIOPIPE_';
const TOKEN = 'FOLIOPIPE_TOKEN';

/**
 * Reads every variable that names a key. Ignores case and single underscores; an empty variable counts as unset. An
 * unknown name with `__` is a problem. Any other unknown name belongs to the user, who may use it in `${...}`.
 * @param cwd absolute base folder of relative paths.
 */
export function environmentSettings(env: Environment, cwd: string, problems: Problems): Setting[] {
  return Object.entries(env).flatMap(([name, text]) => {
    if (!name.startsWith(PREFIX) || !text) return [];
    const key = valueKeys.find((known) => fold(variableOf(known)) === fold(name));
    if (key) return variableSettings(key, text, { label: name, baseDir: cwd });
    if (name.slice(PREFIX.length).includes('__')) problems.add(name, unknownVariable(name));
    return [];
  });
}

/** Adds `FOLIOPIPE_TOKEN` as the token, unless the settings already give a token or a token file. */
export function withToken(
  settings: readonly Setting[],
  env: Environment,
  baseDir: string,
): readonly Setting[] {
  const givesToken = ({ key, value }: Setting) =>
    key[0] === 'service' && (key[1] === 'token' || key[1] === 'tokenFile') && value !== null;
  const text = env[TOKEN];
  if (!text || settings.some(givesToken)) return settings;
  const isToken = ({ key }: Setting) => key.join('.') === 'service.token';
  return [
    ...settings.filter((setting) => !isToken(setting)),
    ...variableSettings(['service', 'token'], text, { label: TOKEN, baseDir }),
  ];
}

/** Escapes the value, so that `${...}` in a variable is not replaced. */
function variableSettings(key: Key, text: string, origin: Origin): Setting[] {
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
  const meant = nearestName(name, valueKeys.map(variableOf));
  return `names no key of the config${meant === undefined ? '' : `, did you mean ${meant}?`}`;
}
