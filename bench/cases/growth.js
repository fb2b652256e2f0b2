/** Memory, and CPU time a record, as the source grows by tens. */
import { alternate } from '../alternate.js';
import { measureClient } from '../measure-client.js';
import { median, of, within } from '../rows.js';

const SHARES = [100, 10, 1];
/** The largest takes minutes: as many rounds as are needed to see the spread. */
const MOST_ROUNDS = 3;
/** Of the small ones a tenth of a second, as two runs may differ, is a µs a record: so many in each round. */
const SMALL_RUNS = 5;

export const growth = {
  title: 'Memory and cost as the source grows',
  async run(lab) {
    const largest = lab.recordsOr(10_000_000);
    const sizes = SHARES.map((share) => Math.round(largest / share));
    const sources = new Map();
    for (const size of [1, ...sizes]) sources.set(`${size}`, await lab.source(size));
    const run = (source) => measureClient(lab.emptyFolder('growth'), source);
    const sides = [...sources].map(([size, source]) => [size, () => run(source)]);
    const samples = Object.fromEntries(sides.map(([size]) => [size, []]));
    for (let round = 0; round < Math.min(lab.pairs, MOST_ROUNDS); round += 1) {
      const small = await alternate(SMALL_RUNS, Object.fromEntries(sides.slice(0, 2)));
      const large = await alternate(1, Object.fromEntries(sides.slice(2)));
      for (const [size, runs] of Object.entries({ ...small, ...large })) samples[size].push(...runs);
    }

    const startUp = median(of(samples[1], 'cpuSeconds'));
    const costOf = (size) => of(samples[size], 'cpuSeconds').map((cpu) => ((cpu - startUp) * 1e6) / size);
    const costs = sizes.map((size) => median(costOf(size)));
    const peaks = sizes.slice(1).map((size) => median(of(samples[size], 'peakRssMB')));
    return {
      told: [
        `The whole client over ${sizes.join(', ')} records. The CPU time of a run of one record, ${startUp.toFixed(2)} s, is its start-up and is subtracted.`,
      ],
      rows: [
        ...sizes.map((size) =>
          within({ what: `CPU time a record at ${size}`, values: costOf(size), unit: 'µs' }),
        ),
        within({ what: 'largest of these over smallest', values: [spread(costs)], unit: '×', atMost: 1.15 }),
        ...sizes.map((size) => {
          const values = of(samples[size], 'peakRssMB');
          return within({ what: `peak memory at ${size}`, values, unit: 'MB', atMost: 150 });
        }),
        within({
          what: 'peak memory, the two largest',
          values: [spread(peaks)],
          unit: '×',
          atMost: 1.1,
        }),
      ],
    };
  },
};

function spread(values) {
  return Math.max(...values) / Math.min(...values);
}
