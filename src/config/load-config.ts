/** The config of the command line: files, over them the environment, over that the flags. */
import { dirname, resolve } from 'node:path';
import { environmentSettings } from './env-settings.js';
import { readSettings } from './file-settings.js';
import { type Override, overrideSettings } from './override-settings.js';
import { Problems } from './problems.js';
import type { Config } from './schema.js';
import { settleConfig } from './settle-config.js';

export interface LoadOptions {
  /** YAML files; of two that set the same key the later wins. Maps merge, lists are replaced. */
  readonly files: readonly string[];
  /** For `${VAR}` and for `FOLIOPIPE_<SECTION>__<KEY>`. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly overrides: readonly Override[];
  /** Absolute folder to which the files, and the paths in variables, are relative. */
  readonly cwd: string;
}

/**
 * Reads, merges and checks the config. State is kept beside the first file unless the config says where.
 * @throws ConfigError `CONFIG_UNREADABLE` for a file that is not there, `CONFIG_INVALID` with all else that
 * is wrong, each problem with its key and the file and line, variable or flag that it came from.
 */
export async function loadConfig({ files, env, overrides, cwd }: LoadOptions): Promise<Config> {
  const problems = new Problems();
  const fromFiles = await Promise.all(files.map((file) => readSettings(file, cwd, problems)));
  problems.throwIfAny();
  const settings = [
    ...fromFiles.flat(),
    ...environmentSettings(env, cwd, problems),
    ...overrideSettings(overrides, problems),
  ];
  const baseDir = files[0] === undefined ? cwd : dirname(resolve(cwd, files[0]));
  return settleConfig(settings, { env, baseDir }, problems);
}
