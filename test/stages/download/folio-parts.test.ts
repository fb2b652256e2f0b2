import { describe, expect, it } from 'vitest';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { isComplete, listParts } from '../../../src/stages/download/folio-parts.js';
import { report } from '../../fake-service/fake-api.js';

const chunk = { number: 3, folio: 'F-3', records: 12 } as ChunkRow;
const counts = (successful: number, failed: number) => ({ counts: { successful, failed } });

describe('a folio is complete', () => {
  it.each([
    ['with parts that cover the successes', report('FINISHED', 10)],
    ['with more listed than successful', report('FINISHED', 10, { listedRecords: 12 })],
    ['with a part whose range cannot be read', report('FINISHED', 10, { listedRecords: null })],
    ['with nothing but failures', report('FINISHED', 0, { ...counts(0, 10), successfulParts: [] })],
  ])('%s', (_, said) => {
    expect(isComplete(said)).toBe(true);
  });

  it.each([
    ['while it is processing, whatever is listed', report('PROCESSING', 10)],
    ['with a status that nobody knows', report('DONE', 10)],
    ['without counts', report('FINISHED', 10, { counts: null })],
    ['before its parts are listed', report('FINISHED', 10, { successfulParts: [], listedRecords: 0 })],
    ['before all of them are', report('FINISHED', 10, { listedRecords: 9 })],
  ])('not %s', (_, said) => {
    expect(isComplete(said)).toBe(false);
  });
});

describe('the parts to fetch', () => {
  it('are the listed ones, and the failed one where records failed', () => {
    const said = report('FINISHED', 10, { ...counts(10, 2), successfulParts: [0, 3], failedPart: 5 });
    expect(listParts(chunk, said)).toEqual([
      { fileStatus: 'SUCCESSFUL', part: 0 },
      { fileStatus: 'SUCCESSFUL', part: 3 },
      { fileStatus: 'FAILED', part: 5 },
    ]);
  });

  it('leave out what holds nothing', () => {
    expect(listParts(chunk, report('FINISHED', 10, { failedPart: 5 }))).toEqual([
      { fileStatus: 'SUCCESSFUL', part: 0 },
    ]);
    expect(listParts(chunk, report('FINISHED', 0, { ...counts(0, 3), successfulParts: [0] }))).toEqual([
      { fileStatus: 'FAILED', part: 0 },
    ]);
  });

  const listing = (parts: number, successful: number) =>
    report('FINISHED', successful, {
      ...counts(successful, 0),
      successfulParts: Array.from({ length: parts }, (_, part) => part),
    });

  it('are one for each successful record at most', () => {
    expect(listParts(chunk, listing(12, 12))).toHaveLength(12);
    expect(listParts(chunk, listing(1, 1))).toHaveLength(1);
  });

  it.each([
    ['more than successful records', 11, 10],
    ['more than records that were sent, whatever the service counts', 13, 1_000_000],
  ])('are refused if they are %s', (_, parts, successful) => {
    expect(() => listParts(chunk, listing(parts, successful))).toThrow(
      expect.objectContaining({
        code: 'TOO_MANY_PARTS',
        exitCode: 6,
        message: expect.stringMatching(
          /^chunk 3: folio F-3 lists \d+ parts for [\d,]+ successful records; 12/,
        ),
        facts: { chunk: 3, folio: 'F-3', parts, successful },
      }),
    );
  });
});
