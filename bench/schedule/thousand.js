/** A billion records of a thousand pipelines on a hundred workers, which share one account and one Postgres. */
import { createModelledAccount } from './account.js';
import { timeText } from './judge.js';
import { createMemoryCheckpoint } from './memory-checkpoint.js';
import { simulate } from './simulate.js';
import { createVirtualClock } from './virtual-clock.js';

const minute = 60_000;
const PIPELINES = 1_000;
const WORKERS = 100;
const RUNS = 10;
/** Simulated chunks of a pipeline. The figures a chunk hold for all hundred of its chunks. */
const CHUNKS = 4;
const ALL_CHUNKS = 100_000;
const RECORDS = 10_000;
const ACCOUNT = { folios: 64, perSecond: 100 };

/**
 * What a chunk of 10,000 records costs, measured: statements by `npm run bench -- --only state` before the account was
 * shared, because its own are simulated; the rest by `node bench/schedule/measure-postgres.js`, as the difference
 * between 50 and 20 chunks.
 */
export const MEASURED = {
  statements: 26,
  rows: 9.2,
  stateBytes: 5_500,
  partBytes: 219_900,
  serverSeconds: 0.0147,
};

/** @returns rows of a figure and its value. @param chunks a pipeline; fewer of them, to try it. */
export async function simulateThousand(chunks = CHUNKS) {
  const clock = createVirtualClock();
  const account = createModelledAccount(clock, ACCOUNT);
  const model = {
    processing: minute,
    upload: 1000,
    download: 1000,
    reply: 50,
    percentage: 'honest',
    records: RECORDS,
  };
  const scenario = {
    chunks,
    concurrency: { uploads: 4, folios: ACCOUNT.folios, downloads: 4 },
    poll: { first: 1000, max: 60 * minute, timeout: 100_000 * minute },
    requestsPerSecond: ACCOUNT.perSecond,
    model,
  };
  let mostWaiting = 0;
  const results = await Promise.all(
    Array.from({ length: PIPELINES }, async (_, nth) => {
      const { finished, ...limits } = account.join(`p${nth}`);
      const checkpoint = createMemoryCheckpoint();
      const { recordFinished } = checkpoint;
      checkpoint.recordFinished = async (...args) => {
        const chunk = await recordFinished(...args);
        finished();
        mostWaiting = Math.max(mostWaiting, account.waiting());
        return chunk;
      };
      return simulate(scenario, checkpoint, { clock, ...limits });
    }),
  );
  const simulated = PIPELINES * chunks;
  const all = ALL_CHUNKS;
  const seconds = clock.now() / 1000;
  const bound = (simulated / ACCOUNT.folios) * ((minute + model.upload) / 1000);
  const { asks, frees, slots } = account.asked;
  const ofAccount = (asks + frees + slots) / simulated;
  const statements = MEASURED.statements + ofAccount;
  const requests = results.reduce((sum, each) => sum + each.requests, 0);
  const number = (value) => Math.round(value).toLocaleString('en');
  const rate = (simulated * statements) / seconds;
  // Half of two cores, so that they are not always busy.
  const chunksAtMost = 1 / MEASURED.serverSeconds;
  return [
    ['pipelines, workers, runs at once', `${number(PIPELINES)}, ${WORKERS}, ${number(WORKERS * RUNS)}`],
    ['records, folios', `${number(all * RECORDS)}, ${number(all)}`],
    [
      'the account',
      `${ACCOUNT.folios} open folios, ${ACCOUNT.perSecond} requests a second, a minute a folio`,
    ],
    [
      'simulated',
      `${number(simulated)} folios: ${timeText(clock.now())}, ${(seconds / bound).toFixed(3)} of the bound; all: ${timeText((clock.now() * all) / simulated)}`,
    ],
    ['pipelines that wait at once', number(mostWaiting)],
    ['requests a second', (requests / seconds).toFixed(1)],
    [
      'statements a chunk',
      `${statements.toFixed(1)}: ${MEASURED.statements} of the checkpoint, ${(asks / simulated).toFixed(2)} for permits, ${(frees / simulated).toFixed(2)} for turns, ${(slots / simulated).toFixed(2)} for requests`,
    ],
    ['statements a second', `${rate.toFixed(0)}, and ${((WORKERS * RUNS) / 10).toFixed(0)} to renew leases`],
    ['rows', `${number(all * MEASURED.rows)} (${MEASURED.rows.toFixed(1)} a chunk)`],
    ['the database without parts', gigabytes(all * MEASURED.stateBytes)],
    ['with parts, until retention.results', gigabytes(all * (MEASURED.stateBytes + MEASURED.partBytes))],
    [
      'CPU of Postgres',
      `${((all * MEASURED.serverSeconds) / 3600).toFixed(1)} h, ${(((simulated * MEASURED.serverSeconds) / seconds) * 100).toFixed(1)} % of a core`,
    ],
    [
      'breaks first: connections',
      `${number(3 * WORKERS * RUNS)} of them, 3 a run: the default of max_connections, 100, is enough for 33 runs at once`,
    ],
    [
      'then: Postgres on two cores, half busy',
      `${chunksAtMost.toFixed(0)} chunks a second, which an account of ${number(chunksAtMost * 60)} open folios of a minute would need`,
    ],
  ];
}

function gigabytes(bytes) {
  return `${(bytes / 1e9).toFixed(1)} GB`;
}
