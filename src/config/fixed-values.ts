/** The values that must not change while a run is open: they decide on the sent data and on the form of the output. */
import { ConfigError } from '../errors.js';
import type { Config } from './schema.js';

/**
 * The fixed values of a run, for the checkpoint: dotted key to JSON text.
 * @param service the base URL, or `embedded:<data folder>`.
 */
export function fixedValues(config: Config, service: string): Record<string, string> {
  const { source, upload, chunks, output } = config;
  const values = {
    service,
    'source.encoding': source.encoding,
    'source.delimiter': source.delimiter,
    'source.onBadRecord': source.onBadRecord,
    'upload.columns': upload.columns,
    'upload.keyColumn': upload.keyColumn,
    'upload.description': upload.description,
    'chunks.maxRecords': chunks.maxRecords,
    'chunks.maxBytes': chunks.maxBytes,
    'chunks.canary': chunks.canary,
  };
  return { ...jsonTexts(values), ...fixedOutputValues(output) };
}

/** The fixed values of the section `output`, which decide on the path and the form of a publication. */
export function fixedOutputValues(output: Config['output']): Record<string, string> {
  return jsonTexts({
    'output.path': output.path,
    'output.columns': output.columns,
    'output.prefix': output.prefix,
    'output.lineage': output.lineage,
    'output.mode': output.mode.toString(8).padStart(4, '0'),
  });
}

/** The output's path among the fixed values of a run; null in a run without one. */
export function fixedOutputPath(fixed: Readonly<Record<string, string>>): string | null {
  return JSON.parse(fixed['output.path'] ?? 'null');
}

/**
 * Throws if a config differs from the fixed values of an open run.
 * @throws ConfigError `CONFIG_FROZEN` naming every changed key with both values.
 */
export function checkFixedValues(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  run: string,
): void {
  const { keys, lines } = changedValues(then, now);
  if (keys.length === 0) return;
  throw new ConfigError('CONFIG_FROZEN', `run ${run} is unfinished and began with other values:${lines}`, {
    hint: 'restore the old values to continue this run, or begin a new run with --new, which pays again',
    facts: { run, keys: keys.join(', ') },
  });
}

/**
 * The keys whose value has changed, and a line for each key with both values. Does not compare a key that only one side
 * has: it comes from another version of foliopipe, and the version without it behaves like the default.
 */
export function changedValues(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): { readonly keys: readonly string[]; readonly lines: string } {
  const keys = Object.keys(then).filter((key) => now[key] !== undefined && now[key] !== then[key]);
  const lines = keys.map((key) => `\n  ${key}: ${then[key]} when it began, ${now[key]} now`);
  return { keys, lines: lines.join('') };
}

function jsonTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}
