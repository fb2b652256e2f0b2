import { expect, it } from 'vitest';
import { fieldText } from '../../src/csv/table.js';

it.each([
  ['plain', 'plain'],
  ['', ''],
  ['""', ''],
  ['""""', '"'],
  ['"a ""b"" c"""', 'a "b" c"'],
  ['"é,\r\n"', 'é,\r\n'],
])('fieldText gives %j as %j', (raw, expected) => {
  const bytes = Buffer.from(`é,${raw},`);
  expect(fieldText(bytes, 3, bytes.length - 1)).toBe(expected);
  expect(fieldText(new Uint8Array(bytes), 3, bytes.length - 1)).toBe(expected);
});
