/** Loads of an output into Postgres and DuckDB, beside the simplest way into a table without a key. */
import { readFileSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { measureClient } from '../measure-client.js';
import { withPostgres } from '../postgres.js';
import { of, shareOf, within } from '../rows.js';

export const load = {
  title: 'Loads into Postgres and DuckDB',
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const work = lab.emptyFolder('load');
    await measureClient(work, await lab.source(records));
    const file = `${work}/out.csv`;
    const { output } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
    const postgres = await withPostgres(lab.path('postgres'), (url, serverCpu) =>
      measureLoads(lab, file, url, serverCpu, (table) => [
        program('peers/copy-postgres.js'),
        url,
        file,
        table,
      ]),
    );
    const database = `${work}/warehouse.duckdb`;
    const duckdb = await measureLoads(
      lab,
      file,
      `duckdb:${database}`,
      () => 0,
      (table) => [program('peers/load-duckdb.js'), database, file, table],
    );
    return {
      notes: [
        `${records} records, ${(output.bytes / 1e6).toFixed(0)} MB, each time into a new table. The seconds are those of the load, without the start of our process, but with the work of the server or of the DuckDB process; CPU time is that of all processes; memory is that of our process only.`,
        'The peer of Postgres is what `\\copy` of psql sends, by pg-copy-streams; that of DuckDB is `INSERT ... FROM read_csv` in its own process. `merge` has a primary key.',
      ],
      rows: [
        ...rowsOf('Postgres', 'a bare COPY', postgres, 1.2),
        ...rowsOf('DuckDB', 'a bare INSERT', duckdb),
      ],
    };
  },
};

/**
 * @param serverCpu CPU seconds of the server so far.
 * @param bare the program that loads the file into a table in the simplest way, with its arguments.
 */
async function measureLoads(lab, file, url, serverCpu, bare) {
  /** A program's figures with the CPU seconds of all processes that have worked for it. */
  const measure = async (args) => {
    const before = serverCpu();
    const figures = await measureNode(args);
    return { ...figures, allCpuSeconds: figures.familyCpuSeconds + serverCpu() - before };
  };
  let tables = 0;
  const fresh = () => `t${++tables}`;
  const ours = async (mode, table = fresh(), publication = 1) => {
    const figures = await measure([program('ours/load.js'), url, file, table, mode, `${publication}`]);
    return { ...figures, table };
  };
  let appended;
  let merged;
  const samples = await alternate(lab.pairs, {
    peer: () => measure(bare(fresh())),
    replace: () => ours('replace'),
    append: async () => {
      appended = await ours('append');
      return appended;
    },
    more: () => ours('append', appended.table, 2),
    merge: async () => {
      merged = await ours('merge');
      return merged;
    },
    again: () => ours('merge', merged.table, 2),
  });
  if (samples.again.some(({ written }) => written !== 0)) {
    throw new Error('a merge without news has written rows');
  }
  return samples;
}

/** @param atMost the goal for loads that are nothing but a copy. */
function rowsOf(database, beside, { peer, replace, append, more, merge, again }, atMost) {
  const share = (what, figure, ours, goal) =>
    shareOf({ what: `${database}, ${what}`, beside, figure, ours, peer, atMost: goal });
  return [
    ...[
      ['replace', replace, atMost],
      ['append', append, atMost],
      ['append, the second night', more, atMost],
      ['merge, the first night', merge],
      ['merge, nothing new', again],
    ].flatMap(([what, ours, goal]) => [
      share(what, 'seconds', ours, goal),
      share(what, 'allCpuSeconds', ours),
    ]),
    within({
      what: `${database}, peak memory`,
      values: of([...replace, ...append, ...merge, ...again], 'peakRssMB'),
      unit: 'MB',
      atMost: 150,
    }),
  ];
}
