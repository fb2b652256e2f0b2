/** Loads of an output into Postgres, beside a bare COPY of the same file into a table without key. */
import { readFileSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { measureClient } from '../measure-client.js';
import { withPostgres } from '../postgres.js';
import { of, shareOf, within } from '../rows.js';

export const load = {
  title: 'Loads into Postgres',
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const work = lab.emptyFolder('load');
    await measureClient(work, await lab.source(records));
    const file = `${work}/out.csv`;
    const { output } = JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8'));
    return withPostgres(lab.path('postgres'), async (url) => {
      let tables = 0;
      const fresh = () => `t${++tables}`;
      const ours = async (mode, table = fresh(), publication = 1) => {
        const told = await measureNode([program('ours/load.js'), url, file, table, mode, `${publication}`]);
        return { ...told, table };
      };
      let merged;
      const { copy, replace, append, merge, again } = await alternate(lab.pairs, {
        copy: () => measureNode([program('peers/copy-postgres.js'), url, file, fresh()]),
        replace: () => ours('replace'),
        append: () => ours('append'),
        merge: async () => {
          merged = await ours('merge');
          return merged;
        },
        again: () => ours('merge', merged.table, 2),
      });
      if (again.some(({ written }) => written !== 0))
        throw new Error('a merge without news has written rows');
      const beside = 'a bare COPY';
      return {
        told: [
          `${records} records, ${(output.bytes / 1e6).toFixed(0)} MB, each time into a new table. The seconds are those of the load, without the start of the process; the server's work is in them.`,
          'The peer is what `\\copy` of psql sends, by pg-copy-streams. `merge` has a primary key.',
        ],
        rows: [
          shareOf({ what: 'replace', beside, figure: 'seconds', ours: replace, peer: copy, atMost: 1.2 }),
          shareOf({ what: 'append', beside, figure: 'seconds', ours: append, peer: copy }),
          shareOf({ what: 'merge, the first night', beside, figure: 'seconds', ours: merge, peer: copy }),
          shareOf({ what: 'merge, nothing new', beside, figure: 'seconds', ours: again, peer: copy }),
          shareOf({ what: 'replace', beside, figure: 'workCpuSeconds', ours: replace, peer: copy }),
          within({ what: 'peak memory', values: of(append, 'peakRssMB'), unit: 'MB', atMost: 150 }),
        ],
      };
    });
  },
};
