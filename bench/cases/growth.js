/** Memory, and CPU time a record, as the source grows by tens. */
import { alternate } from '../alternate.js';
import { CHUNK_RECORDS } from '../job.js';
import { measureClient } from '../measure-client.js';
import { median, of, within } from '../rows.js';

const SHARES = [100, 10, 1];
/** The largest takes minutes: as many rounds as are needed to see the spread. */
const MOST_ROUNDS = 3;
/** Two runs may differ by a tenth of a second, which is 1 µs a record of a small run: so a round has this many. */
const SMALL_RUNS = 7;
const MIDDLE_RUNS = 3;

export const growth = {
  title: 'Memory and cost as the source grows',
  async run(lab) {
    const largest = lab.recordsOr(10_000_000);
    const sizes = SHARES.map((share) => Math.round(largest / share));
    const small = [1, CHUNK_RECORDS, sizes[0]];
    const samples = await measureAll(lab, [
      [SMALL_RUNS, small],
      [MIDDLE_RUNS, [sizes[1]]],
      [1, [sizes[2]]],
    ]);

    const cpuOf = (size) => of(samples[size], 'cpuSeconds');
    /** CPU time a record where a run of `first` records is the start-up, in µs. */
    const costsOf = (size, first) => {
      const startUp = median(cpuOf(first));
      return cpuOf(size).map((cpu) => ((cpu - startUp) * 1e6) / (size - first));
    };
    const spreadOfCosts = (first) => spread(sizes.map((size) => median(costsOf(size, first))));
    const peaks = sizes.slice(1).map((size) => median(of(samples[size], 'peakRssMB')));
    return {
      notes: [
        `The whole client over ${sizes.join(', ')} records. Its start-up, which is subtracted, is a run of one chunk of ${CHUNK_RECORDS}: ${median(cpuOf(CHUNK_RECORDS)).toFixed(2)} s.`,
        `A run of one record takes ${median(cpuOf(1)).toFixed(2)} s: the compiler has not yet worked on what each chunk does.`,
      ],
      rows: [
        ...sizes.map((size) =>
          within({ what: `CPU time a record at ${size}`, values: costsOf(size, CHUNK_RECORDS), unit: 'µs' }),
        ),
        within({
          what: 'largest of these over smallest',
          values: [spreadOfCosts(CHUNK_RECORDS)],
          unit: '×',
          atMost: 1.15,
        }),
        within({ what: 'the same, one record as start-up', values: [spreadOfCosts(1)], unit: '×' }),
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

/** @param groups how many runs a round, and of which sizes. */
async function measureAll(lab, groups) {
  const sides = new Map();
  const samples = {};
  for (const size of groups.flatMap(([, sizes]) => sizes)) {
    const source = await lab.source(size);
    sides.set(size, () => measureClient(lab.emptyFolder('growth'), source));
    samples[size] = [];
  }
  for (let round = 0; round < Math.min(lab.pairs, MOST_ROUNDS); round += 1) {
    for (const [runs, sizes] of groups) {
      const figures = await alternate(runs, Object.fromEntries(sizes.map((size) => [size, sides.get(size)])));
      for (const size of sizes) samples[size].push(...figures[size]);
    }
  }
  return samples;
}

function spread(values) {
  return Math.max(...values) / Math.min(...values);
}
