/** Settings from flags: `--set chunks.maxRecords=500`, `--output out.csv`. */
import { parseDocument } from 'yaml';
import { schemaAt } from './known-keys.js';
import type { Problems } from './problems.js';
import { isMap, type Key, type Setting, toSettings } from './settings.js';

/** A value that a flag gives to a key. */
export interface Override {
  /** Dotted key, such as `chunks.maxRecords`. */
  readonly key: string;
  /** A text is read as the key wants it: as it stands, or as YAML. */
  readonly value: unknown;
  /** Absolute folder to which a relative path is relative. */
  readonly baseDir: string;
  /** The flag, as it is shown in problems. */
  readonly origin: string;
}

/** @param problems is told of tokens: every user of the machine can read the flags of a process. */
export function overrideSettings(overrides: readonly Override[], problems: Problems): Setting[] {
  return overrides.flatMap(({ key, value, baseDir, origin }) => {
    const parts = key.split('.');
    const read = typeof value === 'string' ? textValue(parts, value) : value;
    const settings = toSettings(read, parts, () => ({ label: origin, baseDir }));
    for (const setting of settings) {
      if (isOpenToken(setting)) {
        const text =
          'a token in a flag can be read by every user of the machine; use FOLIOPIPE_TOKEN or tokenFile';
        problems.add('service.token', text, origin);
      }
    }
    return settings;
  });
}

function isOpenToken({ key, value }: Setting): boolean {
  return key.join('.') === 'service.token' && typeof value === 'string' && !/^\$\{\w+\}$/.test(value);
}

// What a text from outside YAML (a variable, a flag) means for a key.

/**
 * A key that takes a text gets it as it stands, so that tokens and permissions arrive unharmed (in YAML
 * `0640` is a number and ` #` begins a comment). Every other key, and a text in quotes, is read as YAML.
 */
export function textValue(key: Key, text: string): unknown {
  const schema = schemaAt(key);
  if (text === 'null' && schema?.safeParse(null).success) return null;
  const quoted = /^(".*"|'.*')$/s.test(text);
  if (!quoted && schema?.safeParse(text).success) return text;
  const value = yamlValue(text);
  return typeof value === 'string' && !quoted ? text : value;
}

/** The same for a text with variables put in: these may give a number, never a list or a map. */
export function scalarValue(key: Key, text: string): unknown {
  const value = textValue(key, text);
  return Array.isArray(value) || isMap(value) ? text : value;
}

/** What is not YAML is left as it is, for the schema to refuse. */
function yamlValue(text: string): unknown {
  const document = parseDocument(text);
  if (document.errors.length > 0 || document.warnings.length > 0) return text;
  try {
    return document.toJS();
  } catch {
    return text;
  }
}
