/** Hides the secrets of a config in what people and programs are shown: messages, logs, summaries, reports. */

const HIDDEN = '[secret]';

/** A shorter secret is a part of too many words: it is hidden only where it is a complete value. */
const MIN_WITHIN = 4;

/** Hides secrets in a text, or in all texts of a value; numbers and the names of fields stay. Never throws. */
export type Redact = <T>(value: T) => T;

/** @param secrets as they are written. Their percent-encoded, decoded and JSON forms are hidden, too. */
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

/**
 * `token`: the value is secret. `webhook`: an address, of which all but scheme and host is secret. `database`: an address,
 * whose user, password and options are secret. `sql`: it may hold secrets, and may be typed.
 */
export type SecretKind = 'token' | 'webhook' | 'database' | 'sql';

/** The keys of the config that may hold a secret. Whatever shows, stores or refuses the value of a key asks here. */
const SECRET_KEYS: Readonly<Record<string, SecretKind>> = {
  'service.token': 'token',
  'source.query.database': 'database',
  'source.query.sql': 'sql',
  'load.into': 'database',
  'report.webhook': 'webhook',
  state: 'database',
};

/** @param key dotted. @returns undefined if the key holds no secret. */
export function secretKindOf(key: string): SecretKind | undefined {
  return Object.hasOwn(SECRET_KEYS, key) ? SECRET_KEYS[key] : undefined;
}

/** The last words of the keys whose whole value is secret, such as `token`: how a map in a flag names them. */
export const secretNames: readonly string[] = Object.keys(SECRET_KEYS)
  .filter((key) => SECRET_KEYS[key] === 'token' || SECRET_KEYS[key] === 'webhook')
  .map((key) => key.split('.').at(-1)!);

/** Whether a key is a map with a key that may hold a secret in it, such as `service`. */
export function hasSecretWithin(key: string): boolean {
  return Object.keys(SECRET_KEYS).some((secret) => secret.startsWith(`${key}.`));
}

/** The sections of a config that hold secrets. */
export type HoldsSecrets = Readonly<Record<'service' | 'source' | 'load' | 'report' | 'state', unknown>>;

/** The texts of a config that must appear nowhere. */
export function secretsOf(config: HoldsSecrets): readonly string[] {
  return Object.keys(SECRET_KEYS).flatMap((key) => {
    const value = key.split('.').reduce<unknown>((map, part) => (map as Tree | null)?.[part], config);
    if (value == null) return [];
    return typeof value === 'string' ? [value] : (value as { secrets(): readonly string[] }).secrets();
  });
}

type Tree = Readonly<Record<string, unknown>>;

/**
 * A setting for `--set` in a command that is shown. The address of a database is shown only if it has no more than host
 * and name. Otherwise, such as with a user, a variable stands for it, which the person who types the command must set.
 */
export function shownSetting(key: string, value: string): string {
  const isWhole = secretKindOf(key) !== 'database' || value.includes('${') || !URL.canParse(value);
  const { username, search } = isWhole ? { username: '', search: '' } : new URL(value);
  const variable = key === 'state' ? `\${STATE_URL}` : `\${DATABASE_URL}`;
  return `${key}=${username === '' && search === '' ? value : variable}`;
}
