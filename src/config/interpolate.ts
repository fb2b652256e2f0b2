/** `${VAR}` and `${VAR:-default}` in texts, put in after YAML is parsed: a value cannot bring keys along. */

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
