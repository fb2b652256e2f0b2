/** Rule "Check before paying": the scan of the whole source. */
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { timesFasterInAll } from '../rows.js';
import { stageProgram } from '../stage-programs.js';

export const check = {
  title: 'The check before paying',
  async run(lab) {
    const records = lab.recordsOr(2_000_000);
    const source = await lab.source(records);
    const { ours, peer } = await alternate(lab.pairs, {
      ours: () => counted(records, [stageProgram('scan'), source]),
      peer: () => counted(records, [program('peers/count-duckdb.js'), source]),
    });
    return {
      notes: [
        `${records} records: dialect, shape of each record, UTF-8, NUL bytes, count and SHA-256,`,
        'beside `SELECT count(*)` by DuckDB on one thread, which only counts.',
      ],
      rows: timesFasterInAll({ what: 'checking', beside: 'DuckDB', ours, peer, atLeast: 1 }),
    };
  },
};

async function counted(records, args) {
  const measured = await measureNode(args);
  if (measured.records === records) return measured;
  throw new Error(`${args.join(' ')} counted ${measured.records} records of ${records}`);
}
