/** Makes the paths of a config absolute, each against the place where it was written. */
import { isAbsolute, join, normalize } from 'node:path';
import type { Key } from './setting.js';

const PATHS: ReadonlySet<string> = new Set(['source.path', 'service.tokenFile', 'output.path', 'stateDir']);

/**
 * Gives the absolute path, or the value as it is where it is no path for us to resolve: empty and `~`
 * paths are left for the schema to refuse. A slash at the end stays, since it says that a folder is meant.
 */
export function resolvePath(key: Key, value: unknown, baseDir: string): unknown {
  if (!PATHS.has(key.join('.')) || typeof value !== 'string') return value;
  if (value === '' || value.startsWith('~')) return value;
  return isAbsolute(value) ? normalize(value) : join(baseDir, value);
}
