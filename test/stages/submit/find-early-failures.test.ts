import { describe, expect, it } from 'vitest';
import { findEarlyFailures } from '../../../src/stages/submit/find-early-failures.js';
import { nothingTallied } from '../../helpers/checkpoint/samples.js';

type Row = readonly [records: number, failed: number | null, changes?: object];

/** Looks at chunks of these records and failures (null: not counted yet), ten records or 1,000 bytes being full. */
async function look(rows: readonly Row[], tolerate = 0.1) {
  let read = 0;
  const chunks = rows.map(([records, failed, changes], at) => {
    const counts = failed === null ? null : { successful: records - failed, failed };
    const state = failed === null ? 'submitted' : 'downloaded';
    return { number: at + 1, round: 0, records, bytes: 20 * records, state, counts, ...changes };
  });
  const run = {
    id: 'R',
    config: { failures: { tolerate }, chunks: { maxRecords: 10, maxBytes: 1000 } },
    checkpoint: {
      tally: async () => ({ chunks: nothingTallied }),
      chunksIn: async (_run: string, states: readonly string[], after: number, limit: number) => {
        const page = chunks.filter(({ number, state }) => number > after && states.includes(state));
        read += Math.min(page.length, limit);
        return page.slice(0, limit);
      },
    },
  };
  const error = await findEarlyFailures(run as unknown as Parameters<typeof findEarlyFailures>[0]);
  return { facts: error?.facts, read };
}

const facts = (failed: number, records: number) => expect.objectContaining({ failed, records });
const whole: Row = [10, 0];

describe('the first chunks', () => {
  it.each<[string, readonly Row[], readonly [number, number] | undefined]>([
    ['fail as often as tolerated', [[10, 1]], undefined],
    ['fail once more', [[10, 2]], [2, 10]],
    ['are weighed by their records', [[10, 2], whole, whole], undefined],
    ['are the three of the lowest numbers', [whole, whole, whole, [10, 10]], undefined],
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
    [
      'are of the source, not of a round',
      [
        [10, 10, { round: 1 }],
        [10, 1],
      ],
      undefined,
    ],
  ])('%s', async (_, rows, expected) => {
    const { facts: found } = await look(rows);
    expect(found).toEqual(expected && facts(...expected));
  });

  it('are looked at without reading the others, counted or not', async () => {
    const many = (row: Row) => Array.from({ length: 50 }, () => row);
    expect((await look(many([10, null]))).read).toBe(0);
    expect((await look([...many([10, null]), ...many(whole)])).read).toBe(3);
    expect((await look([[3, 0], ...many(whole)])).read).toBeLessThan(8);
  });
});
