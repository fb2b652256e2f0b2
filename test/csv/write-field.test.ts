import { describe, expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { fieldText, writeField, writeRawValue, writeValue } from '../../src/csv/write-field.js';

const out = new ByteWriter(4);

/** The raw field as it comes out, standing between other fields. */
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
