/**
 * Checks what a program hands to a function of the library. Plain JavaScript has no types, and a missing or wrong
 * argument would end as a TypeError from somewhere inside.
 */
import { ConfigError } from './errors.js';
import { closeUnread } from './streams/handed-stream.js';
import { showText } from './text.js';

/** What an argument must be, and how to get one. */
interface Expected {
  readonly fits: (value: unknown) => boolean;
  /** Completes "must be". */
  readonly what: string;
  readonly hint: string;
}

const OPTIONS_HINT =
  'docs/embedding.md lists the options of each function; leave out what you do not need, or pass undefined';
const CONFIG_HINT = 'pass what await loadConfig({ files, env, overrides, cwd }) or parseConfig(object) gives';

const TIME = 'a time in epoch milliseconds';

/** Sections that every config has; a plain object of a program leaves some of them out. */
const SECTIONS = ['source', 'upload', 'service', 'chunks', 'poll', 'retry', 'output', 'reuse', 'retention'];

const kinds = {
  config: {
    fits: (value) => isPlace(value) && SECTIONS.every((section) => isObject(value[section])),
    what: 'a config',
    hint: CONFIG_HINT,
  },
  /** The part of a config that says where the state of a pipeline is. */
  place: { fits: isPlace, what: 'a config', hint: CONFIG_HINT },
  options: {
    fits: (value) => value === undefined || isObject(value),
    what: 'an object with options',
    hint: OPTIONS_HINT,
  },
  /** Options that cannot be left out, because at least one of them is required. */
  needs: { fits: isObject, what: 'an object with options', hint: OPTIONS_HINT },
  what: { fits: isObject, what: 'an object', hint: 'such as { run, chunk }, with the folio for adopt' },
  run: {
    fits: isText,
    what: 'the id of a run, the beginning of one, or last',
    hint: 'such as the run of a summary: summary.run; foliopipe runs lists them',
  },
  chunk: {
    fits: (value) => Number.isSafeInteger(value) && Number(value) >= 1,
    what: 'the number of a chunk',
    hint: 'foliopipe status shows the chunks of a run',
  },
  folio: { fits: isText, what: 'a folio', hint: "it is the service's id of an upload, a text" },
  record: {
    fits: isObject,
    what: 'an object with the sent columns',
    hint: "such as { name: 'Bitterroot Dental Clinic', state: 'MT' }",
  },
  body: {
    fits: (value) => typeof value === 'function',
    what: 'a function',
    hint: 'such as async (run) => { ... }',
  },
  opened: {
    fits: (value) => isObject(value) && isObject(value.given) && isObject(value.source),
    what: 'an open run',
    hint: 'pass what await openRun(config, options) gives',
  },
  from: { fits: isObject, what: 'the place of a state', hint: 'such as { stateDir, state: null }' },
  to: { fits: isObject, what: 'the place of a state', hint: 'such as { stateDir, state: null }' },
  folder: {
    fits: isText,
    what: 'the path of a folder',
    hint: 'relative paths begin at the working directory',
  },
  files: {
    fits: (value) => Array.isArray(value) && value.every(isText),
    what: 'a list of paths',
    hint: "such as ['foliopipe.yaml']",
  },
  path: { fits: isText, what: 'the path of a file', hint: 'relative paths begin at the working directory' },
  env: {
    fits: isObject,
    what: 'an object with variables',
    hint: 'the variables of the process, or {} for none',
  },
  overrides: {
    fits: (value) =>
      Array.isArray(value) &&
      value.every((one) => isObject(one) && [one.key, one.baseDir, one.origin].every(isText)),
    what: 'a list of keys with their values',
    hint: "such as [{ key: 'chunks.maxRecords', value: 500, baseDir: '/srv/job', origin: 'my program' }]; [] for none",
  },
  pipeline: { fits: isText, what: 'the name of a pipeline', hint: CONFIG_HINT },
  report: { fits: isObject, what: 'the section of a config', hint: CONFIG_HINT },
  began: { fits: Number.isFinite, what: TIME, hint: 'such as Date.now() before the call' },
  ended: { fits: Number.isFinite, what: TIME, hint: 'such as Date.now() after the call' },
  end: { fits: isObject, what: 'the end of a run', hint: 'pass what describeEnd(config, facts) gives' },
  signal: {
    fits: (value) => value === undefined || value instanceof AbortSignal,
    what: 'an AbortSignal',
    hint: 'such as AbortSignal.timeout(3_600_000), or the signal of an AbortController',
  },
  waitLock: {
    fits: (value) => value === undefined || (typeof value === 'number' && value >= 0),
    what: 'a number of milliseconds',
    hint: 'such as 600_000 for ten minutes',
  },
  deadline: {
    fits: (value) => value === undefined || Number.isFinite(value),
    what: TIME,
    hint: 'such as Date.now() + 3_600_000',
  },
  clock: {
    fits: (value) =>
      value === undefined ||
      (isObject(value) &&
        typeof value.sleep === 'function' &&
        typeof value.now === 'function' &&
        Number.isSafeInteger(value.now())),
    what: 'a clock with sleep(), and whose now() gives whole milliseconds since 1970',
    hint: 'such as { now: () => Math.floor(time), sleep: systemClock.sleep }',
  },
  endpoint: {
    fits: (value) =>
      value === undefined ||
      (isObject(value) && isText(value.baseUrl) && isObject(value.token) && 'reveal' in value.token),
    what: 'a service with baseUrl, and token with reveal()',
    hint: 'pass what await openService() gives; for a service with an address, set service.baseUrl and service.token in the config',
  },
  onProgress: {
    fits: (value) => value === undefined || typeof value === 'function',
    what: 'a function',
    hint: 'such as (event) => { ... }',
  },
} satisfies Readonly<Record<string, Expected>>;

type Kind = keyof typeof kinds;

/** Options of many functions that are checked early: a wrong value would fail late, or only at a certain moment. */
const CHECKED_OPTIONS = ['signal', 'waitLock', 'deadline', 'clock', 'endpoint', 'onProgress'] as const;

/**
 * Checks the arguments of a call, in their order. Records in the options of a refused call are closed.
 * @param call the name of the function.
 * @param given the arguments, by their kinds.
 * @throws ConfigError `ARGUMENT_WRONG` that names the first wrong one.
 */
export function checkCall(call: string, given: { readonly [Name in Kind]?: unknown }): void {
  try {
    for (const [name, value] of Object.entries(given) as [Kind, unknown][]) {
      expectKind(call, name, value);
      if ((name !== 'options' && name !== 'needs') || value === undefined) continue;
      for (const option of CHECKED_OPTIONS) {
        expectKind(call, option, (value as Readonly<Record<string, unknown>>)[option]);
      }
    }
  } catch (error) {
    if (isObject(given.options)) closeUnread(given.options.records);
    throw error;
  }
}

function expectKind(call: string, name: Kind, value: unknown): void {
  const { fits, what, hint }: Expected = kinds[name];
  if (fits(value)) return;
  const isPromise = isObject(value) && typeof value.then === 'function';
  throw new ConfigError('ARGUMENT_WRONG', `${call}: ${name} must be ${what}, and is ${shown(value)}`, {
    hint: isPromise ? 'write await before the call that gives it' : hint,
    facts: { call, argument: name },
  });
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  if (typeof value === 'string') return value === '' ? 'empty' : `the text ${showText(value)}`;
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'function') return 'a function';
  if (!isObject(value)) return String(value);
  return typeof value.then === 'function' ? 'a promise' : 'another object';
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isPlace(value: unknown): value is Readonly<Record<string, unknown>> {
  return isObject(value) && isText(value.stateDir);
}
