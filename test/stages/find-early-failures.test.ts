import { describe, expect, it } from 'vitest';
import { findEarlyFailures } from '../../src/stages/find-early-failures.js';

type Row = readonly [records: number, failed: number | null, changes?: object];

/** Looks at chunks of these records and failures (null: not counted yet), ten records or 1,000 bytes being full. */
async function look(rows: readonly Row[], tolerate = 0.1) {
  let reads = 0;
  let last = 0;
  const chunks = rows.map(([records, failed, changes]) => {
    const firstRecord = last + 1;
    last += records;
    const counts = failed === null ? null : { successful: records - failed, failed };
    const state = failed === null ? 'submitted' : 'downloaded';
    return { firstRecord, lastRecord: last, records, bytes: 20 * records, state, counts, ...changes };
  });
  const run = {
    id: 'R',
    config: { failures: { tolerate }, chunks: { maxRecords: 10, maxBytes: 1000 } },
    checkpoint: {
      nextChunk: async (_run: string, round: number, after: number) => {
        reads += 1;
        return round === 0 ? chunks.find(({ firstRecord }) => firstRecord > after) : undefined;
      },
    },
  };
  const error = await findEarlyFailures(run as unknown as Parameters<typeof findEarlyFailures>[0]);
  return { facts: error?.facts, reads };
}

const facts = (failed: number, records: number) => expect.objectContaining({ failed, records });
const whole: Row = [10, 0];

describe('the first chunks', () => {
  it.each<[string, readonly Row[], readonly [number, number] | undefined]>([
    ['fail as often as tolerated', [[10, 1]], undefined],
    ['fail once more', [[10, 2]], [2, 10]],
    ['are weighed by their records', [[10, 2], whole, whole], undefined],
    ['are three, in the order of the source', [whole, whole, whole, [10, 10]], undefined],
    ['are those that are counted', [[10, null], [10, null], whole, whole, [10, 4]], [4, 30]],
    ['say nothing while none is counted', [[10, null]], undefined],
    [
      'say nothing while only pieces are',
      [
        [2, 2],
        [3, 3],
      ],
      undefined,
    ],
    [
      'are made up of pieces too',
      [
        [5, 2],
        [5, 1],
      ],
      [3, 10],
    ],
    ['may be full of bytes instead', [[3, 1, { bytes: 900 }]], [1, 3]],
    [
      'do not count what was refused',
      [
        [1, 1, { state: 'refused' }],
        [10, 1],
      ],
      undefined,
    ],
    ['do not count what was given up', [[10, 10, { state: 'unprocessed' }]], undefined],
    ['count as soon as the service has', [[10, 10, { state: 'finished' }]], [10, 10]],
  ])('%s', async (_, rows, expected) => {
    const { facts: found } = await look(rows);
    expect(found).toEqual(expected && facts(...expected));
  });

  it('are looked at without reading the others', async () => {
    expect((await look(Array.from({ length: 50 }, () => whole))).reads).toBe(4);
  });
});
