/** The values of a config that an unfinished run has frozen: a resume accepts no others. */

import { existsSync } from 'node:fs';
import type { Run } from '../../checkpoint/checkpoint.js';
import { changedValues, frozenConfig, settingsOfThen } from '../../config/frozen-config.js';
import type { Config } from '../../config/schema.js';
import { FoliopipeError } from '../../errors.js';
import { serviceIdentity, withAddressOf } from '../configured-service.js';
import { openStateReader } from '../state-reader.js';

/** What an unfinished run has frozen. */
export interface FrozenValues {
  readonly run: string;
  /** By key: null where the config has the same value, else the run's own value as JSON. */
  readonly values: Readonly<Record<string, string | null>>;
}

/** The keys of the config from which a frozen value is made, if it is not the value of one key. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  service: ['service.name', 'service.baseUrl'],
  'service.address': ['service.baseUrl'],
  'source.query': ['source.query.database', 'source.query.sql'],
};

/**
 * What the unfinished run of the pipeline has frozen. Takes no lock.
 * @returns undefined if there is no such run, or if the state cannot be read; other commands report that.
 */
export async function frozenValues(config: Config): Promise<FrozenValues | undefined> {
  const run = await unfinishedRun(config);
  if (run === undefined) return undefined;
  const now = withAddressOf(config, run);
  const changed = new Set(changedValues(run.frozen, frozenConfig(now, serviceIdentity(now))).keys);
  const values = Object.entries(run.frozen).flatMap(([key, value]) =>
    (KEYS[key] ?? [key]).map((name) => [name, changed.has(key) ? value : null] as const),
  );
  return { run: run.id, values: Object.fromEntries(values) };
}

/**
 * The values for `--set` with which an unfinished run goes on, if the config has other values than when the run began.
 * @returns none if the values are the same, or if a flag cannot set one of them: then no command goes on, and `run` says
 *   why.
 */
export function settingsToGoOn(config: Config, run: Run): readonly string[] {
  const now = withAddressOf(config, run);
  return settingsOfThen(run.frozen, frozenConfig(now, serviceIdentity(now))) ?? [];
}

/**
 * The file that an unfinished run reads, if the config names another one: without it, no command goes on.
 * @returns undefined also if that file is gone, or is one of several.
 */
export function sourceToGoOn({ source: { path } }: Config, { source: { files } }: Run): string | undefined {
  const [first, ...others] = files;
  if (path === null || first === undefined || first.name !== undefined || others.length > 0) return undefined;
  const isNamed = first.path === path || /[*?[{]/.test(path);
  return isNamed || !existsSync(first.path) ? undefined : first.path;
}

/** The unfinished run of the pipeline; undefined also if the state cannot be read: other commands report that. */
export async function unfinishedRun(config: Config): Promise<Run | undefined> {
  try {
    const reader = await openStateReader(config);
    try {
      return await reader?.unfinishedRun(config.pipeline);
    } finally {
      await reader?.close();
    }
  } catch (error) {
    if (error instanceof FoliopipeError) return undefined;
    throw error;
  }
}
