import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import vm from 'node:vm';
import { beforeAll, expect, it } from 'vitest';
import { HandedRecords, type SourceRecords } from '../../src/spool/handed-records.js';
import { useSharedFolder } from '../helpers/folders/folders.js';

const newFolder = useSharedFolder();
let folder: string;
beforeAll(async () => {
  folder = await newFolder();
});

async function copied(records: unknown): Promise<string> {
  const spool = { folder, signal: new AbortController().signal, at: () => undefined };
  const { path } = await new HandedRecords(records as SourceRecords).copyInto(spool, undefined);
  return readFile(path, 'utf8');
}

/** An iterator with this `next`. */
const of = (next: () => unknown, symbol: symbol = Symbol.asyncIterator) => ({ [symbol]: () => ({ next }) });
const thrower = (thrown: unknown) => () => {
  throw thrown;
};
const another = (code: string) => vm.runInNewContext(code);

it.each<[string, () => unknown, string]>([
  [
    'text cut in a character',
    () => ['name\nCaf\u00e9 \ud83c', '', '\udf55 Pizza\n'],
    'name\nCafé 🍕 Pizza\n',
  ],
  [
    'thenables',
    () => {
      const left = [{ done: false, value: { a: 1 } }, { done: true }];
      // biome-ignore lint/suspicious/noThenProperty: this is what it tests.
      return of(() => ({ then: (tell: (result: unknown) => void) => tell(left.shift()) }));
    },
    'a\n1\n',
  ],
  ['a list of promises', () => [Promise.resolve({ a: 1 }), Promise.resolve({ a: 2 })], 'a\n1\n2\n'],
  [
    'a generator of another realm',
    () => another('(async function* () { yield { a: new Date(0) }; })()'),
    'a\n1970-01-01T00:00:00.000Z\n',
  ],
  ['bytes of another realm', () => [another('new Uint8Array([97, 10, 49, 10])')], 'a\n1\n'],
  ['a single column without a name', () => [{ '': 'x' }], '""\nx\n'],
  [
    'a key that hides an accessor of its class',
    () => [Object.defineProperty(new Row(), 'id', { value: 7, enumerable: true })],
    'name,id\nA,7\n',
  ],
])('copies %s', async (_, give, text) => {
  expect(await copied(give())).toBe(text);
});

class Row {
  name = 'A';
  get id() {
    return 1;
  }
}
const hostile = new Error('\u001b[2Jgone\r\nfake line \u202e');

it.each<[string, () => unknown, string, RegExp, object]>([
  ['half a character at the end', () => ['a\nx\ud83c'], 'SOURCE_RECORD_VALUE', /half of a surrogate/, {}],
  ['half a character inside', () => ['a\nx\ud83cy', '\n'], 'SOURCE_RECORD_VALUE', /half of a surrogate/, {}],
  [
    'half a character before bytes',
    () => ['a\nx\ud83c', Buffer.from('\n')],
    'SOURCE_RECORD_VALUE',
    /half of a/,
    {},
  ],
  ['names instead of records', () => ['Bakery', 'Butcher'], 'SOURCE_RECORD_VALUE', /^2 texts .* no CSV$/, {}],
  ['a list as a record', () => [['a', 'b']], 'SOURCE_RECORD_VALUE', /record 1 .* is a list$/, { record: 1 }],
  [
    'accessors of a class',
    () => [{ name: 'A' }, new Row()],
    'SOURCE_RECORD_KEYS',
    /record 2 .* "id" as an accessor/,
    { record: 2, key: 'id' },
  ],
  [
    'a getter that throws',
    () => [
      { a: '1' },
      {
        get a() {
          throw hostile;
        },
      },
    ],
    'SOURCE_RECORD_VALUE',
    /record 2 .*: "\\u\{1b\}\[2Jgone\\u\{d\}\\u\{a\}fake line \\u\{202e\}"$/,
    { record: 2 },
  ],
  [
    'a proxy that throws',
    () => [new Proxy({}, { ownKeys: thrower(hostile) })],
    'SOURCE_RECORD_VALUE',
    /record 1/,
    { record: 1 },
  ],
  ['an error of the producer', () => of(thrower(hostile)), 'SOURCE_RECORDS_FAILED', /"\\u\{1b\}\[2Jgone/, {}],
  [
    'an error without a text',
    () => of(thrower(Object.create(null))),
    'SOURCE_RECORDS_FAILED',
    /has no text/,
    {},
  ],
  ['no results', () => of(() => undefined, Symbol.iterator), 'SOURCE_RECORDS_FAILED', /no result/, {}],
  ['null', () => null, 'SOURCE_RECORDS_FAILED', /cannot be iterated/, {}],
  [
    'an iterable that throws',
    () => ({ [Symbol.asyncIterator]: thrower(hostile) }),
    'SOURCE_RECORDS_FAILED',
    /gone/,
    {},
  ],
  [
    'a locked stream',
    () => {
      const stream = new Blob(['a']).stream();
      stream.getReader();
      return stream;
    },
    'SOURCE_RECORDS_FAILED',
    /locked/,
    {},
  ],
])('refuses %s', async (_, give, code, message, facts) => {
  await expect(copied(give())).rejects.toMatchObject({
    code,
    message: expect.stringMatching(message),
    facts: expect.objectContaining(facts),
  });
});

it('gives the error of a stream that has failed before it is read, and Node ends no process', async () => {
  const records = new HandedRecords(createReadStream(join(folder, 'missing.csv')));
  await sleep(50);
  const spool = { folder, signal: new AbortController().signal, at: () => undefined };
  await expect(records.copyInto(spool, undefined)).rejects.toMatchObject({
    code: 'SOURCE_RECORDS_FAILED',
    cause: { code: 'ENOENT' },
  });
});

it('closes what was not read, and only that', async () => {
  const closed: string[] = [];
  const one = { ...of(() => ({ done: true })), return: () => closed.push('return') };
  for (const records of [one, [], null, 'a\n1\n'] as SourceRecords[]) new HandedRecords(records).close();
  const read = new HandedRecords(one as unknown as SourceRecords);
  const spool = { folder, signal: new AbortController().signal, at: () => undefined };
  await expect(read.copyInto(spool, undefined)).rejects.toMatchObject({ code: 'SOURCE_EMPTY' });
  read.close();
  expect(closed).toEqual(['return']);
});

it('cancels a web stream that gives nothing more when it is stopped', async () => {
  const stop = new AbortController();
  let asked = 0;
  let cancelled = 0;
  const stream = new ReadableStream<Buffer>(
    {
      pull: (pieces) => {
        asked += 1;
        if (asked === 1) return pieces.enqueue(Buffer.from('name\n'));
        setImmediate(() => stop.abort());
        return new Promise(() => undefined);
      },
      cancel: () => {
        cancelled += 1;
      },
    },
    // Without a queue, a piece is asked for only when somebody waits for it.
    { highWaterMark: 0 },
  );
  const spool = { folder, signal: stop.signal, at: () => undefined };
  await expect(new HandedRecords(stream).copyInto(spool, undefined)).rejects.toThrow('aborted');
  expect(cancelled).toBe(1);
});
