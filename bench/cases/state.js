/** The same job with its state in SQLite, and in Postgres with parts there and in a folder. */
import { alternate } from '../alternate.js';
import { CHUNK_RECORDS, writeJob } from '../job.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { withPostgres } from '../postgres.js';
import { of, shareOf, within } from '../rows.js';
import { cli, withService } from '../service.js';

const AT_MOST = 1.5;

export const state = {
  title: 'State in Postgres',
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const source = await lab.source(records);
    const samples = await withPostgres(lab.path('state-server'), (url, serverCpu) =>
      withService(lab.path('state-service'), (baseUrl) => {
        const run = (name, changes) => measureJob(lab, { name, source, baseUrl, serverCpu }, changes);
        return alternate(lab.pairs, {
          sqlite: () => run('sqlite', (work) => ({ stateDir: `${work}/state` })),
          postgres: () => run('postgres', (work) => ({ state: url, scratchDir: `${work}/scratch` })),
          shared: () =>
            run('shared', (work) => ({
              state: url,
              files: `file://${work}/parts`,
              scratchDir: `${work}/scratch`,
            })),
        });
      }),
    );
    const { sqlite: peer } = samples;
    const beside = 'SQLite';
    const share = (what, ours, figure, atMost) => shareOf({ what, beside, figure, ours, peer, atMost });
    const chunks = Math.ceil(records / CHUNK_RECORDS);
    return {
      told: [
        `${records} records in chunks of ${CHUNK_RECORDS}, the whole job. CPU time is that of the client; that of all has the server of Postgres in it.`,
      ],
      rows: [
        share('parts in Postgres', samples.postgres, 'cpuSeconds', AT_MOST),
        share('parts in Postgres, with the server', samples.postgres, 'allCpuSeconds'),
        share('parts in Postgres, peak memory', samples.postgres, 'peakRssMB'),
        share('parts in a folder', samples.shared, 'cpuSeconds', AT_MOST),
        share('parts in a folder, with the server', samples.shared, 'allCpuSeconds'),
        within({
          what: 'statements a chunk, parts in Postgres',
          values: of(samples.postgres, 'queries').map((queries) => queries / chunks),
          unit: '',
          atMost: 30,
        }),
      ],
    };
  },
};

let runs = 0;

/** @param changes gives the keys of the config that say where the state is. */
async function measureJob(lab, { name, source, baseUrl, serverCpu }, changes) {
  const work = lab.emptyFolder(`state-${name}`);
  runs += 1;
  // Another pipeline each time, or the run would be done.
  const config = writeJob(
    { source, work, baseUrl },
    {},
    { stateDir: undefined, ...changes(work), pipeline: `bench-${runs}` },
  );
  const before = serverCpu();
  const told = await measureNode([
    '--import',
    program('count-queries.js'),
    cli,
    'run',
    config,
    '--log-level',
    'warn',
  ]);
  return { ...told, allCpuSeconds: told.cpuSeconds + serverCpu() - before };
}
