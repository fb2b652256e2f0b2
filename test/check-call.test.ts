/** What plain JavaScript may hand to a function of the library: each wrong argument is named, and none is a TypeError. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { expect, it } from 'vitest';
import * as library from '../pipelines/index.js';
import { openService } from '../src/service.js';
import { minimal } from './helpers/config/minimal-config.js';

type Called = (...given: readonly unknown[]) => unknown;
const config = library.parseConfig(minimal());
const all = new Map<string, unknown>(Object.entries(library));

/** The functions of docs/embedding.md, and those that work on the state. */
const names = [
  'enrich',
  'submit',
  'collect',
  'plan',
  'publish',
  'load',
  'retry',
  'planRetry',
  'adopt',
  'abandon',
  'prune',
  'search',
  'openRun',
  'withRun',
  'withReadyRun',
  'enrichedRecords',
  'enrichedBytes',
  'mergeResults',
  'loadConfig',
  'showReuse',
  'pruneReuse',
  'forgetReuse',
  'importReuse',
  'backupState',
  'restoreState',
  'recover',
  'copyState',
  'checkSetup',
  'reportRun',
  'notifyEnd',
  'describeEnd',
] as const;

const called = (name: (typeof names)[number], given: readonly unknown[]) =>
  thrownBy(() => (all.get(name) as Called)(...given));

/** What a call throws, at once or later. */
async function thrownBy(call: () => unknown): Promise<unknown> {
  try {
    const given = await call();
    if (typeof given === 'object' && given !== null && 'next' in given) {
      await (given as AsyncGenerator).next();
    }
    return undefined;
  } catch (error) {
    return error;
  }
}

it.each(names)('%s names an argument that is missing or wrong', async (name) => {
  const none = [[], [undefined], [null, null, null], [5], ['text'], [{}, {}, {}], [Promise.resolve(config)]];
  for (const given of none) {
    expect(await called(name, given), JSON.stringify(given)).toMatchObject({
      code: 'ARGUMENT_WRONG',
      exitCode: 2,
      message: expect.stringMatching(new RegExp(`^${name}: \\w+ must be .*, and is `)),
      hint: expect.any(String),
    });
  }
});

type Wrong = readonly [name: (typeof names)[number], given: readonly unknown[], message: string];
const wrong: readonly Wrong[] = [
  ['load', [config, undefined], 'run must be the id of a run, the beginning of one, or last, and is missing'],
  ['publish', [config, { signal: null }], 'run must be .*, and is another object'],
  ['retry', [config, ''], 'run must be .*, and is empty'],
  ['adopt', [config, undefined], 'what must be an object, and is missing'],
  ['adopt', [config, { run: 'last', chunk: 1 }], 'folio must be a folio, and is missing'],
  ['abandon', [config, { run: 'last', chunk: '1' }], 'chunk must be .*, and is the text "1"'],
  ['search', [config, 'Bitterroot'], 'record must be .*, and is the text "Bitterroot"'],
  ['enrich', [config, 'last'], 'options must be an object with options, and is the text "last"'],
  ['enrich', [config, { signal: 5 }], 'signal must be an AbortSignal, and is 5'],
  [
    'enrich',
    [config, { waitLock: '10m' }],
    'waitLock must be a number of milliseconds, and is the text "10m"',
  ],
  ...[1.5, Number.NaN, 5n, new Date()].map(
    (now) =>
      [
        'enrich',
        [config, { clock: { ...library.systemClock, now: () => now } }],
        'clock must be a clock with sleep\\(\\), and whose now\\(\\) gives whole',
      ] as const,
  ),
  ['enrich', [config, { clock: { now: Date.now } }], 'clock must be a clock .*, and is another object'],
  ['enrich', [config, { endpoint: openService }], 'endpoint must be a service .*, and is a function'],
  ['openRun', [config, { endpoint: Promise.resolve() }], 'endpoint must be a service .*, and is a promise'],
  [
    'submit',
    [config, { endpoint: { baseUrl: 'http://127.0.0.1:8787', token: 'demo' } }],
    'endpoint must be a service with baseUrl, and token with reveal\\(\\), and is another object',
  ],
  // Rows from the first one on must not become rows from where a work file ends.
  [
    'mergeResults',
    [{ given: {}, source: {} }, async () => undefined, { fromFirst: true }],
    'options must be an object with options, and is a function',
  ],
  ['collect', [config, null], 'options must be an object with options, and is null'],
  ['withRun', [config, {}], 'body must be a function, and is missing'],
  ['loadConfig', [{ files: 'a.yaml' }], 'files must be a list of paths, and is the text "a.yaml"'],
  [
    'loadConfig',
    [{ files: ['a.yaml'], env: {}, overrides: ['chunks.maxRecords=5'], cwd: '/' }],
    'overrides must be a list of keys with their values, and is ',
  ],
];

it.each(wrong)('%s says what an argument must be, and what it is', async (name, given, message) => {
  expect(await called(name, given)).toMatchObject({
    code: 'ARGUMENT_WRONG',
    message: expect.stringMatching(new RegExp(`^${name}: ${message}`)),
  });
});

it('closes the records that a refused call was handed', async () => {
  // The error of a missing file, which comes later, would end this process.
  for (const give of [() => Readable.from(['name\n']), () => createReadStream('/nowhere')]) {
    for (const name of ['openRun', 'withRun', 'withReadyRun', 'enrich', 'submit', 'plan'] as const) {
      const records = give();
      expect(await called(name, [undefined, { records }])).toMatchObject({ code: 'ARGUMENT_WRONG' });
      expect(records.destroyed, name).toBe(true);
      await finished(records).catch(() => undefined);
    }
  }
});

it('says of a promise to wait for it, and of an object how it becomes a config', async () => {
  const hint = async (given: unknown) => library.hintOf((await called('enrich', [given])) as never);
  expect(await hint(Promise.resolve(config))).toBe('write await before the call that gives it');
  expect(await hint(minimal())).toContain('parseConfig(object)');
});

it('refuses a wrong folder of parseConfig and wrong options of a service; hintOf takes anything', async () => {
  const folder = await thrownBy(() => library.parseConfig(minimal(), 5 as never));
  expect(folder).toMatchObject({ code: 'ARGUMENT_WRONG', message: expect.stringMatching(/^parseConfig: /) });
  const options = await thrownBy(() => openService(null as never));
  expect(options).toMatchObject({ code: 'ARGUMENT_WRONG', message: expect.stringMatching(/^openService: /) });
  for (const thrown of [undefined, null, 5, new Error('x')]) {
    expect(library.hintOf(thrown as never)).toBeUndefined();
  }
});
