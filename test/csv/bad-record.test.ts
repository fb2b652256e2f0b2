import { expect, it } from 'vitest';
import { badRecordError } from '../../src/csv/bad-record.js';

const bad = {
  code: 'SOURCE_ENCODING',
  file: 0,
  record: 12,
  line: 14,
  byte: 345,
  raw: Buffer.from('caf\xe9,\x1b[31m', 'latin1'),
  message: 'bytes that are not UTF-8',
} as const;

it('says file, record, line, byte and what to do', () => {
  expect(badRecordError(bad, 'in.csv')).toMatchObject({
    code: 'SOURCE_ENCODING',
    exitCode: 4,
    message: 'in.csv: record 12 (line 14, byte 345): bytes that are not UTF-8: "caf\u{fffd},\\u{1b}[31m"',
    hint: expect.stringContaining('windows-1252'),
    facts: { file: 'in.csv', record: 12, line: 14, byte: 345 },
  });
});

it('leaves out a line that is not known', () => {
  expect(badRecordError({ ...bad, line: 0 }, 'in.csv').message).toContain('record 12 (byte 345)');
});
