/** The config of a program that embeds foliopipe: an object in place of files, and no environment. */
import { resolve } from 'node:path';
import { Problems } from './problems.js';
import type { Config } from './schema.js';
import { toSettings } from './setting.js';
import { settleConfig } from './settle-config.js';

/**
 * Checks a plain object as the YAML would give it (durations as texts with a unit, and so on).
 * @param baseDir folder against which relative paths are resolved.
 * @throws ConfigError `CONFIG_INVALID` with every problem at once. `${VAR}` is one of them: a program has
 * the value itself to put there, and `$${` stands for `${`.
 */
export function parseConfig(value: unknown, baseDir: string): Config {
  const absolute = resolve(baseDir);
  const settings = toSettings(value, [], () => undefined);
  return settleConfig(settings, { env: {}, baseDir: absolute }, new Problems());
}
