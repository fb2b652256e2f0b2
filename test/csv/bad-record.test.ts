import { expect, it } from 'vitest';
import { badRecordHint, badRecordText } from '../../src/csv/bad-record.js';

const bad = {
  code: 'SOURCE_ENCODING',
  file: 0,
  record: 12,
  line: 14,
  byte: 345,
  raw: Buffer.from('caf\xe9,\x1b[31m', 'latin1'),
  message: 'bytes that are not UTF-8',
} as const;

const readAs = { delimiter: '"," (detected)', isOurs: false, isMarkedUtf8: false };

it('says record, line, byte, the beginning of the record, and what to correct', () => {
  expect(badRecordText(bad)).toBe(
    'record 12 (line 14, byte 345): bytes that are not UTF-8: "caf\u{fffd},\\u{1b}[31m"',
  );
  expect(badRecordHint(bad, readAs)).toContain('windows-1252');
});

it('leaves out a line that is not known', () => {
  expect(badRecordText({ ...bad, line: 0 })).toContain('record 12 (byte 345)');
});

it('of a record in which the file ends, without a line end, asks first whether the file is complete', () => {
  const message = 'the number of fields is 3, not 5, and the file ends there without a line end';
  const hint = badRecordHint({ ...bad, code: 'SOURCE_FIELD_COUNT', message }, readAs);
  expect(hint).toMatch(/^check that the file was written and copied completely: .+; or correct the record/);
  const only = badRecordHint({ ...bad, code: 'SOURCE_FIELD_COUNT', message, record: 1 }, readAs);
  expect(only).toMatch(/^check that the first line is the header/);
});
