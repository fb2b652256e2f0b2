/**
 * The config of a run that another machine does: as it is written, with variables in place of their values, and without
 * secrets and what belongs to a machine.
 */
import { isAbsolute, join } from 'node:path';
import { secretKindOf, shownSetting } from '../hide-secrets.js';
import { literalSecret } from './flag-settings.js';
import { type LoadOptions, readLayers, settingValue } from './load-config.js';
import { Problems } from './problems.js';
import { isAddress, STREAM } from './sections/values.js';
import { type Environment, type Setting, type Tree, toTree } from './settings.js';

/** Keys that belong to the machine that does the run, or to those who begin it. */
const LEFT_OUT: ReadonlySet<string> = new Set(['state', 'stateDir', 'scratchDir', 'schedule', 'timeZone']);

/**
 * @param options as those of `loadConfig`, of a valid config.
 * @returns the content of a config file for the other machine. Relative paths are absolute in it.
 * @throws ConfigError `CONFIG_INVALID` for a secret that is written out.
 */
export function configForJob(options: LoadOptions): Tree {
  const { written, env, baseDir } = readLayers(options);
  const problems = new Problems();
  const kept = written.filter((setting) => {
    const key = setting.key.join('.');
    if (LEFT_OUT.has(key)) return false;
    const label = setting.origin?.label;
    const kind = secretKindOf(key);
    const mayHoldOne = kind !== undefined && kind !== 'sql';
    // If the environment gives one here, the other machine's environment must give it there.
    if (mayHoldOne && label !== undefined && env[label] !== undefined) return false;
    const secret = literalSecret(setting) ?? (mayHoldOne ? defaultIn(setting) : undefined);
    if (secret !== undefined) {
      problems.add(
        key,
        `${secret.what} would be kept with the job, where others can read it; name a variable, such as ${secret.variable}, which the workers have`,
        label,
      );
    }
    return true;
  });
  problems.throwIfAny();
  return toTree(kept.map((setting) => ({ ...setting, value: anywhere(setting, env, baseDir) })));
}

/**
 * The texts for `--set` that enqueue the config again with the flags that were given, such as `chunks.maxRecords=100`.
 * Relative paths are absolute. An address of a database, which may hold a secret, is a variable.
 */
export function settingsOfJob({ overrides, env, cwd }: LoadOptions): readonly string[] {
  return overrides.flatMap(({ key, value, baseDir, origin: label }) => {
    if (typeof value !== 'string') return [];
    const setting: Setting = { key: key.split('.'), value, origin: { label, baseDir } };
    return [shownSetting(key, String(anywhere(setting, env, cwd)))];
  });
}

/** The default of a variable, as in `${VAR:-default}`: a secret in it is written out, too. */
function defaultIn({ value }: Setting): ReturnType<typeof literalSecret> {
  const name = typeof value === 'string' ? /\$\{(\w+):-[^}]/.exec(value)?.[1] : undefined;
  return name === undefined ? undefined : { what: 'the default of a variable', variable: `\${${name}}` };
}

/** The value as it is written, with the folder in front of a relative path. */
function anywhere(setting: Setting, env: Environment, baseDir: string): unknown {
  const { value, origin } = setting;
  const resolved = settingValue(setting, env, baseDir);
  if (typeof value !== 'string' || typeof resolved !== 'string') return value;
  // Without a variable, this is what `settingValue` makes of a path.
  if (!value.includes('${')) return resolved;
  const plain = settingValue({ ...setting, key: ['pipeline'] }, env, baseDir);
  const isRelativePath = plain !== resolved && !isAddress(value) && value !== STREAM && !isAbsolute(value);
  return isRelativePath ? join(origin?.baseDir ?? baseDir, value) : value;
}
