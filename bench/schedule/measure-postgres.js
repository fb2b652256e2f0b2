/**
 * What a chunk costs in Postgres: rows, bytes, CPU time of the server, statements. After `npm run build`:
 * node bench/schedule/measure-postgres.js [CHUNKS]
 */
import pg from 'pg';
import { CHUNK_RECORDS, writeJob } from '../job.js';
import { openLab, program } from '../lab.js';
import { measureNode } from '../measure.js';
import { withPostgres } from '../postgres.js';
import { cli, withService } from '../service.js';

const chunks = Number(process.argv[2] ?? 30);
const lab = openLab({ pairs: 1 });
try {
  const source = await lab.source(chunks * CHUNK_RECORDS);
  await withPostgres(lab.path('server'), (url, serverCpu) =>
    withService(lab.path('service'), async (baseUrl) => {
      const work = lab.emptyFolder('work');
      const keys = { stateDir: undefined, state: url, scratchDir: `${work}/scratch` };
      const config = writeJob({ source, work, baseUrl }, {}, keys);
      const before = serverCpu();
      const { queries } = await measureNode(['--import', program('count-queries.js'), cli, 'run', config]);
      const serverSeconds = (serverCpu() - before) / chunks;
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query(`
        SELECT relname AS name, pg_total_relation_size(oid)::int8 AS bytes,
          (xpath('/row/n/text()', query_to_xml('SELECT count(*) AS n FROM foliopipe.' || relname, false, true, '')))[1]::text::int AS rows
        FROM pg_class WHERE relnamespace = 'foliopipe'::regnamespace AND relkind = 'r'`);
      await client.end();
      const isPart = ({ name }) => name === 'part_pieces';
      const sum = (tables, figure) => tables.reduce((all, each) => all + Number(each[figure]), 0) / chunks;
      const state = rows.filter((table) => !isPart(table));
      console.log(
        JSON.stringify({
          statements: queries / chunks,
          rows: sum(rows, 'rows'),
          stateBytes: sum(state, 'bytes'),
          partBytes: sum(rows.filter(isPart), 'bytes'),
          serverSeconds,
        }),
      );
    }),
  );
} finally {
  lab.close();
}
