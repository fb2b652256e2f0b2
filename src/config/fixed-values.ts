/** The values that must not change while a run is open: they decide on the sent data and on the form of the output. */
import { createHash } from 'node:crypto';
import { ConfigError } from '../errors.js';
import type { Config } from './schema.js';
import { serviceAddress } from './sections/service-section.js';

/**
 * The fixed values of a run, for the checkpoint: dotted key to JSON text.
 * @param service the service's identity. Where that is a name, the address is a fixed value too: the run's folios are
 *   there.
 */
export function fixedValues(config: Config, service: string): Record<string, string> {
  const { source, upload, chunks } = config;
  const address = serviceAddress(config);
  const values = {
    service,
    ...(address !== service && { 'service.address': address }),
    'source.query': queryText(source.query),
    'source.encoding': source.encoding,
    'source.delimiter': source.delimiter,
    'source.quote': source.quote,
    'source.header': source.header,
    'source.skipLines': source.skipLines,
    'upload.columns': upload.columns,
    'upload.keyColumn': upload.keyColumn,
    'upload.skipBlank': upload.skipBlank,
    'upload.duplicates': upload.duplicates,
    'upload.description': upload.description,
    'chunks.maxRecords': chunks.maxRecords,
    'chunks.maxBytes': chunks.maxBytes,
    'chunks.canary': chunks.canary,
  };
  return { ...jsonTexts(values), ...fixedOutputValues(config) };
}

/** Names a query and tells it from others, without its text, which may hold secrets. */
function queryText(query: Config['source']['query']): string | null {
  if (query === null) return null;
  return `${query.database}, sql ${createHash('sha256').update(query.sql).digest('hex').slice(0, 12)}`;
}

/** The fixed values that a later publication of the run replaces: those that decide only on its path and form. */
export function fixedOutputValues({
  source,
  output,
}: {
  readonly source: Pick<Config['source'], 'key'>;
  readonly output: Config['output'];
}): Record<string, string> {
  return jsonTexts({
    'source.key': source.key,
    'output.path': output.template ?? output.path,
    'output.columns': output.columns,
    'output.prefix': output.prefix,
    'output.lineage': output.lineage,
    'output.mode': output.mode.toString(8).padStart(4, '0'),
    'output.delta': output.delta,
    'output.maxFileBytes': output.maxFileBytes,
  });
}

/** Whether a later publication of the run may have another value of this key: one of `fixedOutputValues`. */
export function isOutputValue(key: string): boolean {
  return key === 'source.key' || key.startsWith('output.');
}

/** Whether a run began at another address of its service, and with the same values otherwise. */
export function isOnlyMoved(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): boolean {
  const { keys } = changedValues(then, now);
  return keys.length > 0 && keys.every((key) => key === 'service' || key === 'service.address');
}

/**
 * Throws if a config differs from the fixed values of an open run.
 * @param hasPaid whether the run has sent anything that was, or may have been, paid for.
 * @throws ConfigError `CONFIG_FROZEN` naming every changed key with both values.
 */
export function checkFixedValues(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  run: string,
  hasPaid = true,
): void {
  const { keys, lines } = changedValues(then, now);
  if (keys.length === 0) return;
  throw new ConfigError('CONFIG_FROZEN', `run ${run} is unfinished and began with other values:${lines}`, {
    hint: hasPaid ? waysOut(keys, run) : waysOutUnpaid,
    facts: { run, keys: keys.join(', ') },
  });
}

const waysOutUnpaid =
  'nothing was paid for in this run: begin a new one with foliopipe run --new, which gives up nothing; or restore the old values to continue it';

function waysOut(keys: readonly string[], run: string): string {
  if (keys.includes('service.address')) {
    return 'its folios are at the old address: give that to go on with this run, such as with --base-url, and the new one once it is done; or begin a new run with --new, which pays again';
  }
  if (keys.every(isOutputValue)) {
    return `restore the old values to continue this run; once it has all its answers, foliopipe publish ${run} writes them with the new values and pays nothing; --new begins a new run, which pays again`;
  }
  return 'restore the old values to continue this run, or begin a new run with --new, which pays again';
}

/** What a run did that was begun before these keys existed. */
const valuesBeforeKeys: Readonly<Record<string, string>> = {
  'source.query': 'null',
  'source.quote': '"auto"',
  'source.header': '"first"',
  'source.skipLines': '0',
  'source.key': 'null',
  'upload.duplicates': '"send"',
  'output.delta': 'false',
  'output.maxFileBytes': 'null',
};

/**
 * The keys whose value has changed, and a line for each key with both values. Does not compare any other key that only
 * one side has: it comes from another version of foliopipe, and the version without it behaves like the default.
 */
export function changedValues(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): { readonly keys: readonly string[]; readonly lines: string } {
  const before = { ...valuesBeforeKeys, ...then };
  const keys = Object.keys(before).filter((key) => now[key] !== undefined && now[key] !== before[key]);
  const lines = keys.map((key) => `\n  ${key}: ${before[key]} when it began, ${now[key]} now`);
  return { keys, lines: lines.join('') };
}

function jsonTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}
