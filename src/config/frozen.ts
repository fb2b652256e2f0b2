/** The values that hold for a run's whole life: they decide what is sent and what the output looks like. */
import { ConfigError } from '../errors.js';
import type { Config } from './schema.js';

/**
 * Dotted key to JSON text, for the checkpoint.
 * @param service who answers: the base URL, or `embedded:<data folder>`.
 */
export function frozenValues(config: Config, service: string): Record<string, string> {
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
  return { ...jsonTexts(values), ...frozenOutput(output) };
}

/** Those of the section `output`: where and how a publication is written. */
export function frozenOutput(output: Config['output']): Record<string, string> {
  return jsonTexts({
    'output.path': output.path,
    'output.columns': output.columns,
    'output.prefix': output.prefix,
    'output.lineage': output.lineage,
    'output.mode': output.mode.toString(8).padStart(4, '0'),
  });
}

function jsonTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}

/**
 * The keys that have another value now, and each as a line with both. A key that only one side has belongs to another
 * version of foliopipe, which did what the other does by default: not compared.
 */
export function changedValues(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): { readonly keys: readonly string[]; readonly lines: string } {
  const keys = Object.keys(then).filter((key) => now[key] !== undefined && now[key] !== then[key]);
  const lines = keys.map((key) => `\n  ${key}: ${then[key]} when it began, ${now[key]} now`);
  return { keys, lines: lines.join('') };
}

/**
 * Holds a config to the values that an open run began with.
 * @throws ConfigError `CONFIG_FROZEN` naming every changed key with both values.
 */
export function checkFrozen(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  run: string,
): void {
  const { keys, lines } = changedValues(then, now);
  if (keys.length === 0) return;
  throw new ConfigError('CONFIG_FROZEN', `run ${run} is unfinished and began with other values:${lines}`, {
    hint: 'put the old values back to go on with it, or begin a new run with --new, which pays again',
    facts: { run, keys: keys.join(', ') },
  });
}
