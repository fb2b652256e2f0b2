/** A folio's results expire by the service's time; a folio that never finishes always has a record left. */
import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../src/service/faults/fault.js';
import { toldFolios } from '../../../src/service/faults/work-with-faults.js';
import type { Folio } from '../../../src/service/store/folio.js';
import { TimeScale } from '../../../src/service/time-scale.js';

const HOUR = 3_600_000;

function told(fault: Fault, changes: Partial<Folio> = {}): Folio | undefined {
  const folio: Folio = {
    id: 1,
    folio: 'f1',
    fileName: 'a.csv',
    description: '',
    createdAt: Date.now() - HOUR,
    header: Buffer.from('name'),
    records: 3,
    segmentRecords: 10,
    failShare: 0,
    failSeed: 0,
    status: 'FINISHED',
    offset: 5,
    successful: 2,
    failed: 1,
    finishedAt: Date.now() - HOUR / 60,
    ...changes,
  };
  return toldFolios({ find: () => folio, *content() {} }, fault, new TimeScale(60, 0)).find('f1');
}

describe('toldFolios', () => {
  it('lets results expire an hour of the service after they were there', () => {
    expect(() => told({ expire: HOUR })).toThrow('expired');
    expect(told({ expire: 2 * HOUR })?.status).toBe('FINISHED');
  });

  it('goes by the upload where it does not know when the folio was finished', () => {
    expect(() => told({ expire: 59 * HOUR }, { finishedAt: null })).toThrow('expired');
    expect(told({ expire: 61 * HOUR }, { finishedAt: null })?.status).toBe('FINISHED');
  });

  it('lets nothing expire that is not finished', () => {
    expect(told({ expire: 0 }, { status: 'PROCESSING', finishedAt: null })?.status).toBe('PROCESSING');
  });

  it.each([
    [
      { successful: 2, failed: 1 },
      { successful: 2, failed: 0 },
    ],
    [
      { successful: 3, failed: 0 },
      { successful: 2, failed: 0 },
    ],
    [
      { successful: 1, failed: 0 },
      { successful: 1, failed: 0 },
    ],
  ])('never finishes %j', (counts, shown) => {
    expect(told({ neverFinishes: true }, counts)).toMatchObject({ status: 'PROCESSING', ...shown });
  });

  it('forgets', () => {
    expect(told({ forget: true })).toBeUndefined();
  });
});
