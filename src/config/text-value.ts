/** What a text from outside YAML (a variable, a flag) means for a key. */
import { parseDocument } from 'yaml';
import { schemaAt } from './known-keys.js';
import { isMap, type Key } from './setting.js';

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
