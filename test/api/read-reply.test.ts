/** What is read from replies, and what makes a reply malformed. */
import { expect, test } from 'vitest';
import { readJson, searchReply, trackReply, uploadReply } from '../../src/api/read-reply.js';

const PROGRESS = {
  status: 'FINISHED',
  processedPercentage: 100,
  processedRecords: 12,
  successfulRecords: 10,
  failedRecords: 2,
};
const reply = (response: object) => ({ response, message: 'ok' });
const finished = (more: object = {}) => reply({ progressInfo: PROGRESS, ...more });

test('a whole tracking reply', () => {
  const segmentation = [
    { part: 1, range: '[6-10]', filename: '../../etc/passwd' },
    { part: '0', range: '[1-5]', other: true },
    { part: 1, range: '[6-10]' },
  ];
  const names = { filename: 'nightly-R-1-1-01234567.csv', description: ' nightly R 1\n' };
  const failedInfo = { part: 3, range: '[1-2]' };
  expect(trackReply.parse(finished({ ...names, segmentation, failedInfo }))).toEqual({
    status: 'FINISHED',
    fileName: 'nightly-R-1-1-01234567.csv',
    description: 'nightly R 1',
    records: null,
    percentage: 100,
    processed: 12,
    counts: { successful: 10, failed: 2 },
    successfulParts: [0, 1],
    listedRecords: 10,
    failedPart: 3,
  });
});

test('the smallest tracking reply', () => {
  expect(trackReply.parse(reply({ progressInfo: { status: 'QUEUED' } }))).toEqual({
    status: 'QUEUED',
    fileName: null,
    description: null,
    records: null,
    percentage: null,
    processed: null,
    counts: null,
    successfulParts: [],
    listedRecords: 0,
    failedPart: 0,
  });
});

test.each([null, 7, '', ' \t', {}])('a name %j is none, and a long one is cut', (name) => {
  const told = trackReply.parse(finished({ filename: name, description: 'x'.repeat(5_000) }));
  expect(told).toMatchObject({ fileName: null, description: 'x'.repeat(2_000) });
});

test.each([
  [12, 12],
  ['12', 12],
  [-1, null],
  ['many', null],
  [undefined, null],
])('records %j are %j', (records, told) => {
  expect(trackReply.parse(finished({ records })).records).toBe(told);
});

test.each([null, undefined, {}, [], '', { part: null }, { part: 'x' }, { part: -1 }, { range: '[0-0]' }])(
  'failedInfo %j: the failed part is 0',
  (failedInfo) => {
    expect(trackReply.parse(finished({ failedInfo })).failedPart).toBe(0);
  },
);

test.each([
  [45, 45],
  [45.5, 45.5],
  ['45', 45],
  [-3, 0],
  [250, 100],
  ['many', null],
  [null, null],
  [{}, null],
  ['', null],
  [true, null],
])('a percentage of %j is %j', (processedPercentage, percentage) => {
  const progressInfo = { ...PROGRESS, processedPercentage };
  expect(trackReply.parse(reply({ progressInfo })).percentage).toBe(percentage);
});

test('counts may be text, and a single count does not suffice', () => {
  const both = { ...PROGRESS, successfulRecords: '10', failedRecords: '0' };
  expect(trackReply.parse(reply({ progressInfo: both })).counts).toEqual({ successful: 10, failed: 0 });
  const one = { ...PROGRESS, failedRecords: null };
  expect(trackReply.parse(reply({ progressInfo: one })).counts).toBeNull();
});

test.each([
  ['[0-0]', 0],
  ['[0-6]', 7],
  ['[1-1]', 1],
  [' [ 5 - 10 ] ', 6],
  ['[9-3]', 0],
  ['1 to 5', null],
  [undefined, null],
  [{ toString: 1 }, null],
  [[['[1-5]']], null],
])('a range of %j holds %j records', (range, listedRecords) => {
  expect(trackReply.parse(finished({ segmentation: [{ part: 0, range }] })).listedRecords).toBe(
    listedRecords,
  );
});

test.each([
  ['no object', 'text'],
  ['no response', { message: 'x' }],
  ['no progressInfo', reply({})],
  ['a status that is no text', reply({ progressInfo: { status: 1 } })],
  ['a count that is not one', reply({ progressInfo: { ...PROGRESS, failedRecords: -1 } })],
  ['a count with a fraction', reply({ progressInfo: { ...PROGRESS, successfulRecords: 1.5 } })],
  ['segments that are no list', finished({ segmentation: {} })],
  ['a segment without part', finished({ segmentation: [{ range: '[1-5]' }] })],
  ['a segment with a path for a part', finished({ segmentation: [{ part: '../1' }] })],
])('%s is malformed', (_name, value) => {
  expect(trackReply.safeParse(value).success).toBe(false);
});

test.each([
  ['F-1', 5, 'F-1', 5],
  ['{8f2c}:~/x=', '5', '{8f2c}:~/x=', 5],
  [12, null, '12', null],
  ['a'.repeat(200), -1, 'a'.repeat(200), null],
  ['F', 'many', 'F', null],
  ['F', undefined, 'F', null],
])('the folio %j with a total of %j is taken', (folio, totalRecords, taken, total) => {
  expect(uploadReply.parse(reply({ folio, totalRecords }))).toEqual({ folio: taken, totalRecords: total });
});

test.each([undefined, null, '', 'a b', 'a\n', 'ä', 'a'.repeat(201), 1.5, -1, {}, ['F']])(
  '%j is not a folio',
  (folio) => {
    expect(uploadReply.safeParse(reply({ folio })).success).toBe(false);
  },
);

const read = <T>(text: string, schema: Parameters<typeof readJson<T>>[1]) =>
  readJson(
    (async function* () {
      yield Buffer.from(text);
    })(),
    schema,
  );

test.each([
  ['9007199254740991', '9007199254740991'],
  ['9007199254740993', '9007199254740993'],
  ['12345678901234567890123', '12345678901234567890123'],
  ['"9007199254740993"', '9007199254740993'],
])('the folio %s keeps each digit', async (folio, taken) => {
  const text = `{"message":"no. 9007199254740993 \\"","response":{"folio": ${folio} ,"totalRecords":5}}`;
  expect(await read(text, uploadReply)).toEqual({ folio: taken, totalRecords: 5 });
});

test('only a whole number that would be rounded becomes a text', async () => {
  const text =
    '[-9007199254740993, 0.1234567890123456, 1e21, 12, "-9007199254740993,1", {"9007199254740993": 1}]';
  expect(await read(text, searchReply)).toEqual([
    ...['-9007199254740993', 0.1234567890123456, 1e21, 12, '-9007199254740993,1'],
    { '9007199254740993': 1 },
  ]);
});

test('a long reply that is not JSON is refused at once', async () => {
  for (const text of [`"${'\\"'.repeat(500_000)}`, '9'.repeat(1_000_000), `${'9'.repeat(999_999)}.`]) {
    const before = performance.now();
    await read(text, uploadReply).catch(() => undefined);
    expect(performance.now() - before).toBeLessThan(2_000);
  }
});
