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

/** The parts of a config that hold secrets. */
export interface HoldsSecrets {
  readonly service: { readonly token: { reveal(): string } | null };
  readonly source: { readonly query: { readonly database: Address; readonly sql: string } | null };
  readonly load: { readonly into: Address | null } | null;
  readonly report: { readonly webhook: Address | null };
  readonly state: Address | null;
}

interface Address {
  secrets(): readonly string[];
}

/** The texts of a config that must appear nowhere. */
export function secretsOf({ service, source, load, report, state }: HoldsSecrets): readonly string[] {
  return [
    ...(service.token === null ? [] : [service.token.reveal()]),
    ...(source.query?.database.secrets() ?? []),
    ...(source.query === null ? [] : [source.query.sql]),
    ...(load?.into?.secrets() ?? []),
    ...(report.webhook?.secrets() ?? []),
    ...(state?.secrets() ?? []),
  ];
}

/** Keys of the config whose value is the address of a database. */
export const DATABASE_KEYS: ReadonlySet<string> = new Set(['source.query.database', 'load.into', 'state']);

/**
 * A setting for `--set` in a command that is shown. The address of a database is shown only if it has no more than host
 * and name. Otherwise, such as with a user, a variable stands for it, which the person who types the command must set.
 */
export function shownSetting(key: string, value: string): string {
  const isWhole = !DATABASE_KEYS.has(key) || value.includes('${') || !URL.canParse(value);
  const { username, search } = isWhole ? { username: '', search: '' } : new URL(value);
  const variable = key === 'state' ? `\${STATE_URL}` : `\${DATABASE_URL}`;
  return `${key}=${username === '' && search === '' ? value : variable}`;
}
