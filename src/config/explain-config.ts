/** Each key of a config with its value, as it is written, and where the value comes from. Secrets are masked. */
import { secretKindOf } from '../hide-secrets.js';
import { withVariables } from './interpolate.js';
import { accepts, valueKeys } from './known-keys.js';
import { type LoadOptions, loadConfig, readLayers, settingValue } from './load-config.js';
import { DatabaseAddress, isDuckdbFile, isPostgres } from './sections/load-section.js';
import { type Environment, isUnder, type Key, type Setting, type Tree, toTree } from './settings.js';

/** A key of a config, as `explainConfig` gives it. */
export interface ExplainedKey {
  /** Dotted, such as `chunks.maxRecords`. */
  readonly key: string;
  /** As it is written, with variables replaced and paths absolute; undefined if nothing gives the key. */
  readonly value: unknown;
  /** Such as `nightly.yaml:12`, `--set` or `FOLIOPIPE_CHUNKS__MAX_RECORDS`; null for a default. */
  readonly origin: string | null;
}

const MASK = '[secret]';

/**
 * All keys in the order of the schema. A key that is not given has the value of `defaults`.
 * @param defaults gives the default of a key, as people write it.
 * @throws ConfigError as `loadConfig` does.
 */
export async function explainConfig(
  options: LoadOptions,
  defaults: (key: Key) => unknown,
): Promise<readonly ExplainedKey[]> {
  // Throws with all problems of an invalid config.
  await loadConfig(options);
  const { written, env, baseDir } = readLayers(options);
  return valueKeys.map((key) => {
    const at = written.findLast((setting) => isUnder(key, setting.key));
    const found = at === undefined ? written.filter((setting) => isUnder(setting.key, key)) : [at];
    const name = key.join('.');
    if (found.length === 0) {
      return { key: name, value: isLeftOut(key, written) ? undefined : defaults(key), origin: null };
    }
    const value = at === undefined ? mapUnder(found, key, env, baseDir) : partOf(at, key, env, baseDir);
    const shown = unsetIn(found, env) ?? masked(name, value);
    return { key: name, value: shown, origin: originsOf(found) };
  });
}

/** Whether a key is in a map that may be missing, such as `load`, and is missing. */
function isLeftOut(key: Key, written: readonly Setting[]): boolean {
  const map = key.slice(0, -1);
  const mayBeMissing = map.length > 0 && accepts(map, null);
  return mayBeMissing && !written.some((setting) => isUnder(setting.key, map));
}

/** The note on a value whose variable is not set; undefined if all are set. */
function unsetIn(found: readonly Setting[], env: Environment): string | undefined {
  let problem: string | undefined;
  for (const setting of found) {
    withVariables(setting, env, (text) => {
      problem ??= `[${text}]`;
    });
  }
  return problem;
}

function mapUnder(found: readonly Setting[], key: Key, env: Environment, baseDir: string): Tree {
  return toTree(
    found.map((setting) => ({
      ...setting,
      key: setting.key.slice(key.length),
      value: settingValue(setting, env, baseDir),
    })),
  );
}

/** The value of a key in a setting of the key itself, or of a map that contains it, such as `load: null`. */
function partOf(setting: Setting, key: Key, env: Environment, baseDir: string): unknown {
  const value = settingValue(setting, env, baseDir);
  return key.length === setting.key.length ? value : null;
}

function originsOf(found: readonly Setting[]): string | null {
  const labels = [...new Set(found.map(({ origin }) => origin?.label))].filter(
    (label) => label !== undefined,
  );
  return labels.length === 0 ? null : labels.join(', ');
}

function masked(key: string, value: unknown): unknown {
  const kind = secretKindOf(key);
  if (kind === undefined || value == null) return value;
  return kind === 'database' ? addressWithoutSecrets(value) : MASK;
}

function addressWithoutSecrets(value: unknown): unknown {
  const text = String(value);
  if (text === 'none') return text;
  return isPostgres(text) || isDuckdbFile(text) ? String(new DatabaseAddress(text)) : MASK;
}
