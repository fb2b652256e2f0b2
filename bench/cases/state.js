/** The same job, and a night that reuses answers, with the state in SQLite, and in Postgres with files there and in a folder. */
import { rmSync } from 'node:fs';
import { alternate } from '../alternate.js';
import { CHUNK_RECORDS, writeJob } from '../job.js';
import { program } from '../lab.js';
import { measureNode } from '../measure.js';
import { withPostgres } from '../postgres.js';
import { of, shareOf, within } from '../rows.js';
import { cli, withService } from '../service.js';
import { DELTA, COLUMNS as NIGHT_COLUMNS, REUSE } from './nights.js';

const AT_MOST = 1.5;

export const state = {
  title: 'State in Postgres',
  async run(lab) {
    const records = lab.recordsOr(1_000_000);
    const source = await lab.source(records);
    const nights = {
      known: await lab.reuseSource(records, 'state-night-1.csv'),
      asked: await lab.reuseSource(records, 'state-night-2.csv', '--order', 'shuffled', '--changed', '1'),
    };
    const samples = await withPostgres(lab.path('state-server'), (url, serverCpu) =>
      withService(lab.path('state-service'), (baseUrl) => {
        const run = (name, changes) => measureJob(lab, { name, source, baseUrl, serverCpu }, changes);
        const night = (name, place, isElsewhere = false) =>
          measureNight(lab, { name, nights, baseUrl, serverCpu, isElsewhere }, place);
        return alternate(lab.pairs, {
          nightSqlite: () => night('night-sqlite', inFolder),
          nightPostgres: () => night('night-postgres', inDatabase(url)),
          nightElsewhere: () => night('night-elsewhere', inDatabase(url), true),
          sqlite: () => run('sqlite', inFolder),
          postgres: () => run('postgres', inDatabase(url)),
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
    const nightShare = (what, ours, figure, atMost) =>
      shareOf({ what, beside, figure, ours, peer: samples.nightSqlite, atMost });
    const second = 'the second night with reuse and a delta';
    const elsewhere = `${second}, on a machine without copies`;
    const chunks = Math.ceil(records / CHUNK_RECORDS);
    return {
      notes: [
        `${records} records in chunks of ${CHUNK_RECORDS}, the whole job. CPU time is that of the client, and where the row says so also that of the server of Postgres.`,
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
        nightShare(second, samples.nightPostgres, 'cpuSeconds', AT_MOST),
        nightShare(`${second}, with the server`, samples.nightPostgres, 'allCpuSeconds'),
        nightShare(`${second}, peak memory`, samples.nightPostgres, 'peakRssMB'),
        nightShare(elsewhere, samples.nightElsewhere, 'cpuSeconds', AT_MOST),
        nightShare(`${elsewhere}, with the server`, samples.nightElsewhere, 'allCpuSeconds'),
      ],
    };
  },
};

const inFolder = (work) => ({ stateDir: `${work}/state` });
const inDatabase = (url) => (work) => ({ state: url, scratchDir: `${work}/scratch` });

let runs = 0;

/** @param isElsewhere whether the second night begins without what the first one has left on its machine. */
async function measureNight(lab, { name, nights, baseUrl, serverCpu, isElsewhere }, place) {
  const work = lab.emptyFolder(`state-${name}`);
  runs += 1;
  // Answers of another service are not taken.
  const service = { name: `service-${runs}` };
  const keys = { stateDir: undefined, ...place(work), pipeline: `night-${runs}` };
  const config = writeJob({ source: '', work, baseUrl, columns: NIGHT_COLUMNS }, { service }, keys);
  const night = ({ path }) =>
    measureNode([cli, 'run', config, '--source', path, ...REUSE, ...DELTA, '--log-level', 'warn']);
  await night(nights.known);
  if (isElsewhere) rmSync(`${work}/scratch`, { recursive: true });
  const before = serverCpu();
  const figures = await night(nights.asked);
  return { ...figures, allCpuSeconds: figures.cpuSeconds + serverCpu() - before };
}

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
  const figures = await measureNode([
    '--import',
    program('count-queries.js'),
    cli,
    'run',
    config,
    '--log-level',
    'warn',
  ]);
  return { ...figures, allCpuSeconds: figures.cpuSeconds + serverCpu() - before };
}
