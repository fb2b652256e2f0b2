/**
 * Replaces `${VAR}` and `${VAR:-default}` in the texts of a config. Runs after YAML is parsed, so that a value cannot
 * add keys.
 */
import { scalarValue } from './flag-settings.js';
import type { Environment, Setting } from './settings.js';

/**
 * The value of a setting, with the variables in its text, or in the texts of its list, replaced.
 * @param onProblem called as `interpolate` does.
 */
export function withVariables(
  { key, value }: Pick<Setting, 'key' | 'value'>,
  env: Environment,
  onProblem: (text: string) => void,
): unknown {
  if (Array.isArray(value)) {
    return value.map((item) => (typeof item === 'string' ? interpolate(item, env, onProblem) : item));
  }
  if (typeof value !== 'string') return value;
  const text = interpolate(value, env, onProblem);
  // With an empty address, runs would start over in a folder and pay again for what the database knows to be paid.
  if (text === '' && key.join('.') === 'state' && /\$\{\w+\}/.test(value)) {
    onProblem(
      `${value} is empty; write ${value.replaceAll('}', ':-}')} if the state should be in stateDir then`,
    );
  }
  return text === value ? value : scalarValue(key, text);
}

/**
 * Replaces the variables in a text. As in a shell, the default also replaces an empty variable. `$${` gives `${`.
 * @param onProblem called for an unset variable, and for a `${` without a name. Its text never holds a value.
 */
export function interpolate(text: string, env: Environment, onProblem: (text: string) => void): string {
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

/** Matches `$${`, or `${` and, if the reference is well-formed, the name, the default and `}`. */
const REFERENCE = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\})?/g;

/** Escapes a text, so that `interpolate` returns the original. */
export function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${');
}
