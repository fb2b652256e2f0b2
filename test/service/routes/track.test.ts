/** Parts and ranges at their limits. */
import { describe, expect, it } from 'vitest';
import { failedSegment, findSegment, successfulSegments } from '../../../src/service/routes/track.js';
import type { Folio } from '../../../src/service/store/folio.js';

function folioWith(successful: number, failed: number): Folio {
  return {
    id: 1,
    folio: 'f1',
    fileName: 'a.csv',
    description: '',
    createdAt: 0,
    header: Buffer.from('name'),
    records: 20_000,
    segmentRecords: 10_000,
    failShare: 0,
    failSeed: 0,
    status: 'PROCESSING',
    offset: 0,
    successful,
    failed,
    finishedAt: null,
  };
}

describe('successfulSegments', () => {
  it.each([
    [0, []],
    [1, ['[1-1]']],
    [10_000, ['[1-10000]']],
    [10_001, ['[1-10000]', '[10001-10001]']],
    [12_345, ['[1-10000]', '[10001-12345]']],
  ])('of %i records', (successful, ranges) => {
    const segments = successfulSegments(folioWith(successful, 0));
    expect(segments.map(({ range }) => range)).toEqual(ranges);
    expect(segments.map(({ part }) => part)).toEqual(ranges.map((_, part) => part));
  });
});

describe('failedSegment', () => {
  it.each([
    [0, '[0-0]'],
    [1, '[1-1]'],
    [25_000, '[1-25000]'],
  ])('of %i records', (failed, range) => {
    expect(failedSegment(folioWith(0, failed))).toMatchObject({ part: 0, range });
  });
});

describe('findSegment', () => {
  it('finds only the parts that are listed', () => {
    const folio = folioWith(12_345, 0);
    expect(findSegment(folio, 'SUCCESSFUL', 1)?.range).toBe('[10001-12345]');
    expect(findSegment(folio, 'SUCCESSFUL', 2)).toBeUndefined();
    expect(findSegment(folio, 'FAILED', 0)?.range).toBe('[0-0]');
    expect(findSegment(folio, 'FAILED', 1)).toBeUndefined();
  });
});
