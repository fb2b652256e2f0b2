/** Makes the config: reads settings, merges them, replaces variables, makes paths absolute and checks everything. */

import { dirname, isAbsolute, join, normalize, resolve } from 'node:path';
import { checkCall } from '../check-call.js';
import { countingSettings, joinLayers } from './counting-settings.js';
import { checkState, crossCheck } from './cross-checks.js';
import { environmentSettings } from './env-settings.js';
import { readSettings } from './file-settings.js';
import { flagSettings, type Override } from './flag-settings.js';
import { withVariables } from './interpolate.js';
import { parseSections } from './parse-sections.js';
import { Problems } from './problems.js';
import type { Config, ConfigInput } from './schema.js';
import { DUCKDB, resolveLoad } from './sections/load-section.js';
import { resolveReport } from './sections/report-section.js';
import { resolveService, type ServiceConfig } from './sections/service-section.js';
import { resolveSource } from './sections/source-section.js';
import { resolveState } from './sections/state-section.js';
import { isAddress, STREAM } from './sections/values.js';
import { type ServiceNeeds, withStandIns } from './service-needs.js';
import {
  type Environment,
  effectiveSettings,
  isUnder,
  type Key,
  type Setting,
  toSettings,
  toTree,
} from './settings.js';

export interface LoadOptions {
  /** YAML files. If two files set the same key, the later file wins. Maps are merged, lists are replaced. */
  readonly files: readonly string[];
  /** For `${VAR}` and for `FOLIOPIPE_<SECTION>__<KEY>`. */
  readonly env: Environment;
  readonly overrides: readonly Override[];
  /** Absolute base folder of the files and of the paths in variables. */
  readonly cwd: string;
  /** Default: `service`. */
  readonly needs?: ServiceNeeds | undefined;
  /** Other files of the command, which the output must not replace. */
  readonly ownFiles?: readonly string[] | undefined;
}

/**
 * The config of the command line: the environment overrides the files, and flags override both. The default state folder
 * is beside the first file.
 * @throws ConfigError `CONFIG_UNREADABLE` for a file that cannot be read; `CONFIG_INVALID` with all other problems, each
 * with its key and its origin: file and line, variable or flag.
 */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { files, env, overrides, cwd, needs = 'service', ownFiles = [] } = options ?? {};
  checkCall('loadConfig', { needs: options, files, env, overrides, folder: cwd });
  const problems = new Problems();
  const { settings, baseDir } = layersOf({ files, env, overrides, cwd }, problems);
  const config = resolveConfig(withStandIns(settings, needs, env), env, baseDir, problems);
  const read = [...files, ...ownFiles].map((file) => resolve(cwd, file));
  return { ...config, ownFiles: [...read, ...tokenFiles(settings, env, baseDir)] };
}

/**
 * The settings of files, environment and flags; later ones win. And the folder of the default state.
 * @throws ConfigError when a file cannot be read.
 */
function layersOf(
  { files, env, overrides, cwd }: Pick<LoadOptions, 'files' | 'env' | 'overrides' | 'cwd'>,
  problems: Problems,
): { readonly settings: readonly Setting[]; readonly baseDir: string } {
  const fromFiles = files.map((file) => readSettings(file, cwd, problems));
  problems.throwIfAny();
  const layers = [...fromFiles, environmentSettings(env, cwd, problems), flagSettings(overrides, problems)];
  const baseDir = files[0] === undefined ? cwd : dirname(resolve(cwd, files[0]));
  return { settings: joinLayers(layers, env), baseDir };
}

/**
 * The settings of a valid config that count, as they are written.
 * @throws ConfigError when a file cannot be read.
 */
export function readLayers({ files, env, overrides, cwd }: LoadOptions) {
  const problems = new Problems();
  const { settings, baseDir } = layersOf({ files, env, overrides, cwd }, problems);
  return { written: countingSettings(settings, env, baseDir, problems), env, baseDir };
}

/**
 * The value of a setting: variables are replaced, and a path is absolute.
 * @param onProblem called as `withVariables` does.
 */
export function settingValue(
  setting: Setting,
  env: Environment,
  baseDir: string,
  onProblem: (text: string) => void = () => undefined,
): unknown {
  const value = withVariables(setting, env, onProblem);
  return absolutePath(setting.key, value, setting.origin?.baseDir ?? baseDir);
}

/**
 * The config of a program that embeds foliopipe: a plain object with the values that YAML would give, such as durations
 * as texts with a unit. Uses no environment: `${VAR}` is a problem, and `$${` means `${`. Without `source.path` and
 * `source.query`, the program hands in the records (`RunOptions.records`).
 * @param baseDir base folder of relative paths. Default: the working directory.
 * @throws ConfigError `CONFIG_INVALID` with every problem at once.
 */
export function parseConfig(value: ConfigInput, baseDir = '.'): Config {
  checkCall('parseConfig', { folder: baseDir });
  const settings = withHandedSource(toSettings(value, [], () => undefined));
  const config = resolveConfig(settings, {}, resolve(baseDir), new Problems());
  return { ...config, ownFiles: tokenFiles(settings, {}, resolve(baseDir)) };
}

/** The settings, with `-` as the source if none is named: the program hands in the records. */
function withHandedSource(settings: readonly Setting[]): readonly Setting[] {
  const isNamed = settings.some(
    ({ key, value }) =>
      value !== null && (isUnder(key, ['source', 'path']) || isUnder(key, ['source', 'query'])),
  );
  if (isNamed) return settings;
  return [...settings, { key: ['source', 'path'], value: STREAM, origin: undefined }];
}

/** The path that `service.tokenFile` gives, also for a command that does not read the token. */
function tokenFiles(settings: readonly Setting[], env: Environment, baseDir: string): readonly string[] {
  const given = effectiveSettings(settings).filter(({ key }) => key.join('.') === 'service.tokenFile');
  return given.map((one) => settingValue(one, env, baseDir)).filter((path) => typeof path === 'string');
}

/**
 * Makes the config from settings. Later settings win.
 * @param env gives the values for `${VAR}`, and the token if the settings have none.
 * @param baseDir absolute folder that holds the default state folder.
 * @param problems the problems so far. This function adds its own.
 * @throws ConfigError `CONFIG_INVALID` with every problem.
 */
function resolveConfig(
  settings: readonly Setting[],
  env: Environment,
  baseDir: string,
  problems: Problems,
): Omit<Config, 'ownFiles'> {
  const written = countingSettings(settings, env, baseDir, problems);
  const originOf = (key: Key) =>
    (settingAt(written, key) ?? written.findLast((setting) => isUnder(setting.key, key)))?.origin?.label;
  const onProblem = (key: Key, text: string) => problems.add(key.join('.'), text, originOf(key));

  const tree = toTree(
    written.map((setting) => {
      const value = settingValue(setting, env, baseDir, (text) => onProblem(setting.key, text));
      return { ...setting, value };
    }),
  );
  const sections = parseSections(tree, (key) => writtenAt(written, key), onProblem);
  const onKeyProblem = (key: string, text: string) => onProblem(key.split('.'), text);
  crossCheck(sections, onKeyProblem);
  const hasStateDir = settings.some(({ key, value }) => key[0] === 'stateDir' && value !== null);
  checkState(sections, { hasStateDir, stateOrigin: originOf(['state']) }, onKeyProblem);
  const service = sections.service && resolveService(sections.service, onKeyProblem);
  problems.throwIfAny();
  const all = sections as Required<typeof sections>;
  const { scratchDir: _, ...others } = all;
  return {
    ...others,
    ...resolveState(all, originOf(['state'])),
    source: resolveSource(all.source),
    service: service as ServiceConfig,
    load: resolveLoad(all.load),
    report: resolveReport(all.report),
  };
}

const PATHS: ReadonlySet<string> = new Set([
  'source.path',
  'service.tokenFile',
  'output.path',
  'report.html',
  'report.textfile',
  'stateDir',
  'scratchDir',
]);

/** Keys whose value may name a DuckDB file. */
const DATABASES: ReadonlySet<string> = new Set(['load.into', 'source.query.database']);

/**
 * Makes a path absolute. The base folder belongs to the file, variable or flag that gives the path. Empty paths,
 * addresses, `-` and paths with `~` stay unchanged, because the schema rejects them. A slash at the end stays, because
 * it means a folder.
 */
function absolutePath(key: Key, value: unknown, baseDir: string): unknown {
  if (DATABASES.has(key.join('.')) && typeof value === 'string' && value.startsWith(DUCKDB)) {
    const file = value.slice(DUCKDB.length);
    return file === '' || file.startsWith('~') ? value : `${DUCKDB}${resolve(baseDir, file)}`;
  }
  if (!PATHS.has(key.join('.')) || typeof value !== 'string') return value;
  if (value === '' || value.startsWith('~') || value === STREAM || isAddress(value)) return value;
  return isAbsolute(value) ? normalize(value) : join(baseDir, value);
}

/** The value of a key as it was written. */
function writtenAt(settings: readonly Setting[], key: Key): unknown {
  const setting = settingAt(settings, key);
  if (!setting) return settings.some((under) => isUnder(under.key, key)) ? {} : undefined;
  return key
    .slice(setting.key.length)
    .reduce<unknown>((value, part) => (Array.isArray(value) ? value[Number(part)] : value), setting.value);
}

/** The setting of a key, or of the map or list that contains it. */
function settingAt(settings: readonly Setting[], key: Key): Setting | undefined {
  return settings.findLast((setting) => isUnder(key, setting.key));
}
