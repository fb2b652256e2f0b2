import { describe, expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { COMMA } from '../../src/csv/bytes.js';
import { fieldRuns, fieldText, writeField, writeRawValue, writeValue } from '../../src/csv/write-field.js';

const out = new ByteWriter(4);

/** What is written of a raw field between two others. */
function written(raw: string, delimiter: string): string {
  const bytes = Buffer.from(`"x"${delimiter}${raw}${delimiter}"y"`);
  writeField(out, bytes, 4, bytes.length - 4, delimiter.charCodeAt(0));
  return out.take().toString();
}

describe('writeField', () => {
  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['""', '""'],
    ['"not needed"', '"not needed"'],
    ['"a ""b"", c"', '"a ""b"", c"'],
    ['lone\rcr', '"lone\rcr"'],
  ])('writes %j of a comma source as %j', (raw, expected) => {
    expect(written(raw, ',')).toBe(expected);
  });

  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['""', ''],
    ['a,b', '"a,b"'],
    ['"a;b"', 'a;b'],
    ['"a,b"', '"a,b"'],
    ['"a ""b"""', '"a ""b"""'],
    ['"a\nb"', '"a\nb"'],
    ['lone\rcr', '"lone\rcr"'],
    ['"é"', 'é'],
  ])('writes the value of %j of a semicolon source as %j', (raw, expected) => {
    expect(written(raw, ';')).toBe(expected);
  });
});

it.each([
  ['plain', 'plain'],
  ['', ''],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['a\rb', '"a\rb"'],
  ['a\nb', '"a\nb"'],
  ['é📒'.repeat(40), 'é📒'.repeat(40)],
])('writeValue writes %j as %j', (value, expected) => {
  writeValue(out, value);
  expect(out.take().toString()).toBe(expected);
});

it.each([
  ['plain', 'plain'],
  ['', ''],
  ['""', ''],
  ['""""', '"'],
  ['"a ""b"" c"""', 'a "b" c"'],
  ['"é,\r\n"', 'é,\r\n'],
])('the value of %j is %j, as text and as bytes', (raw, expected) => {
  const bytes = Buffer.from(`é,${raw},`);
  expect(fieldText(bytes, 3, bytes.length - 1)).toBe(expected);
  expect(fieldText(new Uint8Array(bytes), 3, bytes.length - 1)).toBe(expected);
  writeRawValue(out, bytes, 3, bytes.length - 1);
  expect(out.take().toString()).toBe(expected);
});

describe('fieldRuns', () => {
  it.each([
    ['neighbours are one run', [2, 3, 4], [2, 4]],
    ['others are runs of their own', [4, 2, 3, 0], [4, 4, 2, 3, 0, 0]],
    [
      'an empty field is a run of its own, before the first field too',
      [-1, 0, 1, -1, -1],
      [-1, -1, 0, 1, -1, -1, -1, -1],
    ],
    ['nothing is no run', [], []],
  ])('%s', (_, fields, runs) => {
    expect([...fieldRuns(fields, COMMA)]).toEqual(runs);
  });

  it('fields with another delimiter between them are copied one by one', () => {
    expect([...fieldRuns([0, 1], 0x3b)]).toEqual([0, 0, 1, 1]);
  });
});
