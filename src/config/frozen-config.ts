/** The values that must not change while a run is open: they decide on the sent data and on the form of the output. */
import { createHash } from 'node:crypto';
import { ConfigError } from '../errors.js';
import { escapeUnprintable, quoteForShell } from '../text.js';
import { textValue } from './flag-settings.js';
import { schemaAt } from './known-keys.js';
import type { Config } from './schema.js';
import { serviceAddress } from './sections/service-section.js';
import { isMap } from './settings.js';

/**
 * The frozen values of a run, for the checkpoint: dotted key to JSON text.
 * @param service the service's identity. If that is a name, the address is a frozen value too, because the run's folios
 *   are at this address.
 */
export function frozenConfig(config: Config, service: string): Record<string, string> {
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
  return { ...jsonTexts(values), ...frozenOutput(config) };
}

/**
 * The address at which a run has begun. A run of an older version has stored none if its service has a name: then this
 * is the name.
 * @param service the service's identity.
 * @param frozen the run's frozen values.
 */
export function frozenAddress({
  service,
  frozen,
}: {
  readonly service: string;
  readonly frozen: Readonly<Record<string, string>>;
}): string {
  return String(JSON.parse(frozen['service.address'] ?? 'null') ?? service);
}

/** Identifies a query without its text, which may hold secrets. */
function queryText(query: Config['source']['query']): string | null {
  if (query === null) return null;
  return `${query.database}, sql ${createHash('sha256').update(query.sql).digest('hex').slice(0, 12)}`;
}

/** The frozen values that a later publication of the run may change: they decide only on its path and form. */
export function frozenOutput({
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

/** Whether a later publication of the run may have another value of this key: one of `frozenOutput`. */
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

/** The run whose frozen values are compared. */
interface FrozenRun {
  readonly id: string;
  /** Whether it has sent anything that was, or may have been, paid for. Default: it has. */
  readonly hasPaid?: boolean;
  /** Whether the command names the run, which may have ended. */
  readonly isNamed?: boolean;
}

/**
 * Throws if a config differs from the frozen values of a run.
 * @throws ConfigError `CONFIG_FROZEN` naming every changed key with both values, and the flags that give the old ones.
 */
export function checkFrozenConfig(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
  { id: run, hasPaid = true, isNamed = false }: FrozenRun,
): void {
  const { keys, lines } = changedValues(then, now);
  if (keys.length === 0) return;
  const settings = settingsOfThen(then, now);
  const flags = settings?.map((setting) => `--set ${quoteForShell(setting)}`).join(' ') ?? null;
  const what = isNamed ? 'began' : 'is unfinished and began';
  throw new ConfigError('CONFIG_FROZEN', `run ${run} ${what} with other values:${lines}`, {
    hint: isNamed ? namedWayOut(flags) : hasPaid ? waysOut(keys, run, flags) : waysOutUnpaid(flags),
    facts: { run, keys: keys.join(', '), flags },
  });
}

/** @param flags the flags that give the old values; null if flags cannot give them. */
function goOn(flags: string | null): string {
  return flags === null
    ? 'restore the old values to continue this run'
    : `to continue this run, give the old values: foliopipe run ${flags}`;
}

function namedWayOut(flags: string | null): string {
  return flags === null
    ? 'restore the old values, then run the same command again'
    : `give the old values: the same command with ${flags}`;
}

function waysOutUnpaid(flags: string | null): string {
  return `nothing was paid for in this run: begin a new one with foliopipe run --new, which gives up nothing; or ${goOn(flags)}`;
}

function waysOut(keys: readonly string[], run: string, flags: string | null): string {
  if (keys.includes('service.address')) {
    const how = flags === null ? 'such as with --base-url' : `foliopipe run ${flags}`;
    return `its folios are at the old address: to continue this run, give that address, ${how}, and the new one once the run is done; or begin a new run: foliopipe run --new, which pays again`;
  }
  if (keys.every(isOutputValue)) {
    return `${goOn(flags)}; once it has all its answers, foliopipe publish ${run} writes them with the new values and pays nothing; foliopipe run --new begins a new run, which pays again`;
  }
  return `${goOn(flags)}; or begin a new run: foliopipe run --new, which pays again`;
}

/** The values of a run that began before these keys existed. */
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

/**
 * The texts for `--set` that give a config the values with which a run began, for each key that differs now, such as
 * `chunks.maxRecords=100`.
 * @returns undefined if a value cannot be given in a flag, such as a query or a map of columns.
 */
export function settingsOfThen(
  then: Readonly<Record<string, string>>,
  now: Readonly<Record<string, string>>,
): readonly string[] | undefined {
  const before = { ...valuesBeforeKeys, ...then };
  const settings = changedValues(then, now).keys.map((key) => settingOf(key, before[key]!, now[key]!));
  return settings.some((setting) => setting === undefined)
    ? undefined
    : [...new Set(settings as readonly string[])];
}

function settingOf(key: string, then: string, now: string): string | undefined {
  const value: unknown = JSON.parse(then);
  if (key === 'service' || key === 'service.address') {
    // One of the two may be a name: a flag can give only an address.
    const isMoved = [value, JSON.parse(now)].every((text) => /^https?:/.test(String(text)));
    return isMoved ? `service.baseUrl=${String(value)}` : undefined;
  }
  // A flag adds to a map, and removes nothing from it.
  const named = isMap(value) ? Object.keys(JSON.parse(now) as object) : [];
  if (isMap(value) && !named.every((name) => Object.hasOwn(value, name))) return undefined;
  const parts = key.split('.');
  const texts = typeof value === 'string' ? [value, then] : [...onlyText(value), then];
  const text = texts.find((one) => {
    // A tab in a message could not be copied.
    if (escapeUnprintable(one) !== one) return false;
    const read = schemaAt(parts)?.safeParse(textValue(parts, one));
    return read?.success === true && (key === 'output.mode' || JSON.stringify(read.data) === then);
  });
  return text === undefined ? undefined : `${key}=${text}`;
}

/** A list of one text may be written as the text. */
function onlyText(value: unknown): string[] {
  return Array.isArray(value) && value.length === 1 && typeof value[0] === 'string' ? [value[0]] : [];
}

function jsonTexts(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]));
}
