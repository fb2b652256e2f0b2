/** Hides the secrets of a config in everything that is shown, logged or sent to a webhook. */
import { createRedact, hasSecretWithin, type Redact, secretKindOf, secretNames } from '../hide-secrets.js';
import { typedArguments } from './texts/next-steps.js';

let hide: Redact = createRedact([]);

/** From now on, hides these secrets and those in the command line. */
export function rememberSecrets(secrets: readonly string[] = []): void {
  hide = createRedact([...secretsInFlags(typedArguments()), ...secrets]);
}

/** Hides secrets in what the process reports besides its log: the failure, the summary, and what a webhook gets. */
export const hideSecrets: Redact = (value) => hide(value);

/** Hides secrets in a line of the log, which is JSON and stays JSON. */
export function redactLine(line: string): string {
  return `${JSON.stringify(hide(JSON.parse(line)))}\n`;
}

/** A text in which a map or an address holds a secret. */
const HOLDS_ONE = new RegExp(`${secretNames.join('|')}|://[^/]*:[^/]*@|password`, 'i');

/**
 * Secrets that were typed into flags. Such a command is refused, and the error must not repeat the secret. A reference
 * to a variable is no secret.
 */
function secretsInFlags(argv: readonly string[]): string[] {
  return argv.flatMap((word) => {
    const [, key = '', value = ''] = /^(?:--set=)?([\w.]+)=(.+)$/s.exec(word) ?? [];
    if (value === 'null' || value.includes('${')) return [];
    const kind = secretKindOf(key);
    const mayHoldOne = kind === 'database' || hasSecretWithin(key);
    const isHeld = mayHoldOne && HOLDS_ONE.test(value);
    return kind === 'token' || kind === 'webhook' || isHeld ? [value] : [];
  });
}
