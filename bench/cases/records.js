/** Objects in and objects out: the memory of a whole job, and the rows of a run beside csv-parse. */
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { timesFaster, within } from '../rows.js';
import { withService } from '../service.js';

export const records = {
  title: 'Objects in and out',
  async run(lab) {
    const count = lab.recordsOr(1_000_000);
    const file = lab.path('records.csv');
    const work = lab.emptyFolder('records');
    return withService(lab.emptyFolder('records-service'), async (baseUrl) => {
      const job = (folder, ...output) =>
        measureNode([program('ours/records-job.js'), folder, baseUrl, `${count}`, ...output]);
      await job(work, file);
      const { ours, peer, whole } = await alternate(lab.pairs, {
        ours: () => measureNode([program('ours/records-out.js'), work, baseUrl]),
        peer: () => measureNode([program('peers/records-csv-parse.js'), file]),
        whole: () => job(lab.emptyFolder('records-whole')),
      });
      checkSame(ours[0], peer[0], count);
      const rates = (samples) => samples.map(({ records: each, seconds }) => each / seconds / 1000);
      const cpuRates = (samples) => samples.map((one) => one.records / one.workCpuSeconds / 1000);
      const compared = { beside: 'csv-parse with `columns: true`', ours, peer };
      return {
        notes: [
          `${count} records of seven columns, in chunks of 10,000, predicted by \`foliopipe serve --predictor hash\` in another process.`,
          '`enrichedRecords` merges the rows of a run that is done from its parts, and gives an object for each; csv-parse reads the same rows from a CSV file that is written already.',
          'The memory is that of a whole job with an async generator of objects as its records, a loop over `enrichedRecords`, and `confirm`.',
        ],
        rows: [
          within({
            what: 'enrichedRecords, thousand records a second',
            values: rates(ours),
            unit: 'k/s',
            atLeast: 400,
          }),
          within({ what: 'the same, a second of CPU', values: cpuRates(ours), unit: 'k/s' }),
          within({ what: 'csv-parse, thousand records a second', values: rates(peer), unit: 'k/s' }),
          timesFaster({ ...compared, what: 'rows as objects', figure: 'seconds', atLeast: 3 }),
          timesFaster({ ...compared, what: 'rows as objects', figure: 'workCpuSeconds' }),
          within({
            what: 'the whole job, peak memory',
            values: whole.map(({ peakRssMB }) => peakRssMB),
            unit: 'MB',
            atMost: 200,
          }),
          within({ what: 'the whole job, time', values: whole.map(({ seconds }) => seconds), unit: 's' }),
        ],
      };
    });
  },
};

function checkSame(ours, peer, count) {
  const isSame = ours.records === count && peer.records === count && ours.characters === peer.characters;
  if (!isSame) throw new Error(`ours ${JSON.stringify(ours)} is not the peer's ${JSON.stringify(peer)}`);
}
