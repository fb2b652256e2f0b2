/** Hides the secrets of a config in everything that is shown, logged or sent to a webhook. */
import type { Config } from '../../pipelines/index.js';

const HIDDEN = '[secret]';

/** A shorter secret is a part of too many words: it is hidden only where it is the whole of a value. */
const MIN_WITHIN = 4;

/** Hides secrets in a text, or in all texts of a value; numbers and the names of fields stay. Never throws. */
export type Redact = <T>(value: T) => T;

/** @param secrets as they are written; they are found percent-encoded, decoded and in JSON too. */
export function createRedact(secrets: readonly string[]): Redact {
  const forms = new Set(secrets.flatMap(formsOf).filter((form) => form !== ''));
  // The longest first, because one form may contain another.
  const within = [...forms].filter(({ length }) => length >= MIN_WITHIN).sort((a, b) => b.length - a.length);
  const inText = (text: string) =>
    forms.has(text) ? HIDDEN : within.reduce((rest, form) => rest.replaceAll(form, HIDDEN), text);
  const walk = (value: unknown): unknown => {
    if (typeof value === 'string') return inText(value);
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) {
      return value;
    }
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, walk(inner)]));
  };
  return (forms.size === 0 ? (value: unknown) => value : walk) as Redact;
}

function formsOf(secret: string): string[] {
  const changed = [encodeURIComponent, encodeURI, decodeURIComponent, asFormValue].flatMap((change) => {
    try {
      return [change(secret)];
    } catch {
      return [];
    }
  });
  const forms = [secret, ...changed];
  return [...forms, ...forms.map((form) => JSON.stringify(form).slice(1, -1))];
}

function asFormValue(text: string): string {
  return new URLSearchParams({ v: text }).toString().slice(2);
}

/** Hides secrets in a line of JSON, which stays JSON. */
export function redactLine(line: string, redact: Redact): string {
  return `${JSON.stringify(redact(JSON.parse(line)))}\n`;
}

/** The texts of a config that must appear nowhere. */
export function secretsOf({
  service,
  source,
  load,
  report,
}: Pick<Config, 'service' | 'source' | 'load' | 'report'>): readonly string[] {
  return [
    ...(service.embedded ? [] : [service.token.reveal()]),
    ...(source.query?.database.secrets() ?? []),
    ...(source.query === null ? [] : [source.query.sql]),
    ...(load?.into?.secrets() ?? []),
    ...(report.webhook?.secrets() ?? []),
  ];
}

let hide: Redact = createRedact([]);

/** From now on `hideSecrets` hides what a process's command line and config hold. */
export function rememberSecrets(argv: readonly string[], config?: Parameters<typeof secretsOf>[0]): void {
  hide = createRedact([...secretsInFlags(argv), ...(config === undefined ? [] : secretsOf(config))]);
}

/** What the process reports beside its log: the failure, the summary, and what a webhook gets. */
export const hideSecrets: Redact = (value) => hide(value);

/** Keys that hold a secret alone, and keys that may hold one within an address or a map. */
const SECRET_KEYS = /^(?:service\.token|report\.webhook)$/;
const MAY_HOLD_SECRETS = /^(?:service|report|load(?:\.into)?|source(?:\.query(?:\.database)?)?)$/;

/**
 * Secrets that were typed into flags. The command is refused, and what it says must not repeat them. A reference to a
 * variable is none.
 */
function secretsInFlags(argv: readonly string[]): string[] {
  return argv.flatMap((word) => {
    const [, key = '', value = ''] = /^(?:--set=)?([\w.]+)=(.+)$/s.exec(word) ?? [];
    if (value === 'null' || value.includes('${')) return [];
    const isHeld = MAY_HOLD_SECRETS.test(key) && /token|webhook|:\/\/[^/]*:[^/]*@|password/i.test(value);
    return SECRET_KEYS.test(key) || isHeld ? [value] : [];
  });
}
