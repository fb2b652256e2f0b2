/** Loads of an output into Postgres and DuckDB, beside the barest way into a table without key. */
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
    const postgres = await withPostgres(lab.path('postgres'), (url) =>
      measureLoads(lab, file, url, (table) => [program('peers/copy-postgres.js'), url, file, table]),
    );
    const database = `${work}/warehouse.duckdb`;
    const duckdb = await measureLoads(lab, file, `duckdb:${database}`, (table) => [
      program('peers/load-duckdb.js'),
      database,
      file,
      table,
    ]);
    return {
      told: [
        `${records} records, ${(output.bytes / 1e6).toFixed(0)} MB, each time into a new table. The seconds are those of the load, without the start of our process; the server’s or the DuckDB process’s work is in them, CPU time and memory are of our process alone.`,
        'The peer of Postgres is what `\\copy` of psql sends, by pg-copy-streams; that of DuckDB is `INSERT ... FROM read_csv` in its own process. `merge` has a primary key.',
      ],
      rows: [
        ...rowsOf('Postgres', 'a bare COPY', postgres, 1.2),
        ...rowsOf('DuckDB', 'a bare INSERT', duckdb),
      ],
    };
  },
};

/** @param bare the program that loads the file into a table in the barest way, with its arguments. */
async function measureLoads(lab, file, url, bare) {
  let tables = 0;
  const fresh = () => `t${++tables}`;
  const ours = async (mode, table = fresh(), publication = 1) => {
    const told = await measureNode([program('ours/load.js'), url, file, table, mode, `${publication}`]);
    return { ...told, table };
  };
  let appended;
  let merged;
  const samples = await alternate(lab.pairs, {
    peer: () => measureNode(bare(fresh())),
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
  const share = (what, ours, goal) =>
    shareOf({ what: `${database}, ${what}`, beside, figure: 'seconds', ours, peer, atMost: goal });
  return [
    share('replace', replace, atMost),
    share('append', append, atMost),
    share('append, the second night', more, atMost),
    share('merge, the first night', merge),
    share('merge, nothing new', again),
    within({
      what: `${database}, peak memory`,
      values: of([...replace, ...append, ...merge, ...again], 'peakRssMB'),
      unit: 'MB',
      atMost: 150,
    }),
  ];
}
