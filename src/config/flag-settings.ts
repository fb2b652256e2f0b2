/** Settings from flags: `--set chunks.maxRecords=500`, `--output out.csv`. */
import { parseDocument } from 'yaml';
import { secretKindOf } from '../hide-secrets.js';
import { accepts } from './known-keys.js';
import type { Problems } from './problems.js';
import { STREAM } from './sections/values.js';
import { isMap, type Key, type Setting, toSettings } from './settings.js';

/** A value that a flag gives to a key. */
export interface Override {
  /** Dotted key, such as `chunks.maxRecords`. */
  readonly key: string;
  /** `textValue` reads a text; other values are used unchanged. */
  readonly value: unknown;
  /** Absolute base folder of a relative path. */
  readonly baseDir: string;
  /** The flag, as it is shown in problems. */
  readonly origin: string;
}

/**
 * @param problems gets a problem for a token, a password or the address of a webhook in a flag, because every user of the
 *   machine can read the flags.
 */
export function flagSettings(overrides: readonly Override[], problems: Problems): Setting[] {
  return overrides.flatMap(({ key, value, baseDir, origin }) => {
    const parts = key.split('.');
    const read = typeof value === 'string' ? textValue(parts, value) : value;
    const settings = toSettings(read, parts, () => ({ label: origin, baseDir }));
    for (const setting of settings) {
      const secret = literalSecret(setting);
      if (secret === undefined) continue;
      const instead =
        secret.what === 'a token'
          ? 'use FOLIOPIPE_TOKEN or tokenFile'
          : `name a variable, such as ${secret.variable}, or write it into the config file`;
      const text = `${secret.what} in a flag can be read by every user of the machine; ${instead}`;
      problems.add(setting.key.join('.'), text, origin);
    }
    return settings;
  });
}

/** The secret that a setting shows, and a variable to use instead; undefined if it shows none. */
export function literalSecret({
  key,
  value,
}: Setting): { readonly what: string; readonly variable: string } | undefined {
  if (typeof value !== 'string') return undefined;
  const kind = secretKindOf(key.join('.'));
  if (kind === 'webhook' && showsWebhook(value)) {
    return { what: 'the address of a webhook', variable: `\${FOLIOPIPE_WEBHOOK}` };
  }
  if (kind === 'token' && !/^\$\{\w+\}$/.test(value)) {
    return { what: 'a token', variable: `\${FOLIOPIPE_TOKEN}` };
  }
  if (kind === 'database' && showsPassword(value)) {
    return { what: 'a password', variable: `\${DATABASE_URL}` };
  }
  return undefined;
}

/** Whether a text shows the address of a webhook, to which every reader could post. Scheme and host are no secret. */
function showsWebhook(text: string): boolean {
  if (text.includes('${')) return false;
  if (!URL.canParse(text)) return text !== '';
  const { pathname, search, username, password } = new URL(text);
  return pathname !== '/' || `${search}${username}${password}` !== '';
}

/** Whether an address shows a password. A reference to a variable does not show it. */
export function showsPassword(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { password, searchParams } = new URL(address);
  // In the user part of an address, the braces of a reference are encoded.
  return ![password, searchParams.get('password') ?? ''].every((text) =>
    /^(?:\$(?:\{|%7B).*(?:\}|%7D))?$/.test(text),
  );
}

/**
 * The value of a text from a variable or a flag. A key that takes a text gets it unchanged, because YAML would alter
 * tokens and permissions (`0640` is a number, and ` #` begins a comment). For other keys, and for a text in quotes,
 * reads the text as YAML.
 */
export function textValue(key: Key, text: string): unknown {
  if (text === 'null' && accepts(key, null)) return null;
  const quoted = /^(".*"|'.*')$/s.test(text);
  // YAML reads a single dash as a list.
  if (text === STREAM || (!quoted && accepts(key, text))) return text;
  const value = yamlValue(text);
  return typeof value === 'string' && !quoted ? text : value;
}

/** The value of a text after variables were replaced: it may become a number, but never a list or a map. */
export function scalarValue(key: Key, text: string): unknown {
  const value = textValue(key, text);
  return Array.isArray(value) || isMap(value) ? text : value;
}

/** Reads a text as YAML. Returns a text that is not YAML unchanged; the schema then rejects it. */
function yamlValue(text: string): unknown {
  const document = parseDocument(text);
  if (document.errors.length > 0 || document.warnings.length > 0) return text;
  try {
    return document.toJS();
  } catch {
    return text;
  }
}
