/** Settings from the environment: `FOLIOPIPE_CHUNKS__MAX_RECORDS` is `chunks.maxRecords`. */
import { nearest, valueKeys } from './known-keys.js';
import { textValue } from './override-settings.js';
import type { Problems } from './problems.js';
import { type Key, type Origin, type Setting, toSettings } from './settings.js';

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

// `${VAR}` and `${VAR:-default}` in texts, put in after YAML is parsed: a value cannot bring keys along.

/** `$${`, or `${` with, where it is well-formed, the name, the default and `}`. */
const REFERENCE = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?/g;

/**
 * Puts variables into a text. As in a shell, the default stands for an empty variable too. `$${` gives `${`.
 * @param onProblem is told of an unset variable and of a `${` that names none; values are never in its text.
 */
export function interpolate(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  onProblem: (text: string) => void,
): string {
  return text.replace(REFERENCE, (found: string, name?: string, fallback?: string) => {
    if (found === '$${') return '${';
    if (name === undefined) {
      onProblem(`"\${" must be followed by the name of a variable and "}"; "$\${" gives "\${" itself`);
      return found;
    }
    const value = env[name];
    if (fallback !== undefined) return value || fallback;
    if (value === undefined) onProblem(`the variable ${name} is not set`);
    return value ?? found;
  });
}

/** Writes a text so that `interpolate` gives it back. */
export function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${');
}
