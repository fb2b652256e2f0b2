/** Which file a folio is of, by the names that the service gives. */
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../../src/config/load-config.js';
import { recogniseUpload, uploadNames } from '../../../src/stages/submit/upload-names.js';
import { minimalWith } from '../../helpers/config/minimal-config.js';

const run = '20261121T031002-4f9c1a';
const other = '20261122T031002-0a1b2c';
const chunk = { number: 12, sha256: '0123456789abcdef' };
const contextOf = (id: string, description?: string) => ({
  id,
  config: parseConfig(
    minimalWith({ upload: { columns: { name: 'BusinessName' }, ...(description && { description }) } }),
    '/',
  ),
});
const recognise = (fileName: string | null, description: string | null, template?: string) =>
  recogniseUpload(contextOf(run, template), chunk, { fileName, description });

const ours = 'nightly-20261121T031002-4f9c1a-12-1-01234567.csv';
const ourDescription = 'nightly 20261121T031002-4f9c1a 12 01234567';
const same = { is: 'same' };
const unknown = { is: 'unknown' };
const foreign = { is: 'other', named: undefined };

it('knows what upload-names has written', () => {
  for (const template of [undefined, '{run}{hash}', 'v1 ({chunk}{hash}) [{pipeline}|{chunk}] of\t {run}. ']) {
    const { fileName, description } = uploadNames(contextOf(run, template), chunk);
    const { before, after } = fileName;
    for (const attempt of [1, 2, 31])
      expect(recognise(`${before}${attempt}${after}`, null, template)).toEqual(same);
    expect(recognise(null, description, template)).toEqual(same);
    expect(recognise('a1b2.csv', ` ${description}\n`, template)).toEqual(same);
  }
});

describe('by the file name', () => {
  it.each([
    [ours, same],
    [ours.replace('-12-1-', '-12-7-'), same],
    [`2026/11/88_${ours}.gz`, same],
    [ours.replace('-12-', '-5-'), { is: 'other', named: { run, chunk: 5, hash: '01234567' } }],
    [ours.replace(run, other), { is: 'other', named: { run: other, chunk: 12, hash: '01234567' } }],
    [ours.replace('01234567', '76543210'), { is: 'other', named: { run, chunk: 12, hash: '76543210' } }],
    ['customers.csv', foreign],
  ])('%s', (fileName, found) => {
    expect(recognise(fileName, null)).toEqual(found);
  });

  it("which a description in the service's own words does not contradict", () => {
    expect(recognise(ours, 'uploaded by api')).toEqual(same);
  });
});

describe('by the description', () => {
  it.each([
    [null, ourDescription, same],
    ['a1b2.csv', ourDescription, same],
    [
      ours,
      'nightly 20261121T031002-4f9c1a 5 01234567',
      { is: 'other', named: { run, chunk: 5, hash: '01234567' } },
    ],
    [
      null,
      'nightly 20261121T031002-4f9c1a 5 01234567',
      { is: 'other', named: { run, chunk: 5, hash: '01234567' } },
    ],
    [null, 'nightly 20261121T031002-4f9c1a 12', foreign],
    ['a1b2.csv', 'nightly', foreign],
  ])('%s, %s', (fileName, description, found) => {
    expect(recognise(fileName, description)).toEqual(found);
  });

  it.each([
    // A number alone may be another run's.
    [null, 'part 12', 'part {chunk}', unknown],
    [null, 'part 5', 'part {chunk}', { is: 'other', named: { chunk: 5 } }],
    ['a1b2.csv', 'plain', 'plain', unknown],
    ['a1b2.csv', 'otherwise', 'plain', foreign],
    [null, 'otherwise', 'plain', unknown],
    [null, `${other} plain`, '{run} plain', { is: 'other', named: { run: other } }],
  ])('%s, %s with the template %s', (fileName, description, template, found) => {
    expect(recognise(fileName, description, template)).toEqual(found);
  });
});

it('is unknown where the service gives no names', () => {
  expect(recognise(null, null)).toEqual(unknown);
  expect(recognise(null, null, 'plain')).toEqual(unknown);
});
