import { describe, expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { writeField, writeValue } from '../../src/csv/write-field.js';

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
