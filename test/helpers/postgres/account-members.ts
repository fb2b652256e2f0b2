/** Processes that share an account in Postgres: each has a pipeline of its own, with a run and chunks to send. */
import { afterEach, expect } from 'vitest';
import type { PostgresState } from '../../../src/checkpoint/postgres/open-postgres-state.js';
import { systemClock } from '../../../src/streams/clock.js';
import { type Permits, permitName } from '../../../src/streams/permits.js';
import { createSharedPermits } from '../../../src/streams/shared-permits.js';
import { noSignal } from '../api/test-client.js';
import { sampleBudget, sampleChunk, sampleRun } from '../checkpoint/samples.js';
import { lockWaits } from './postgres.js';
import { openState, type StateDatabase } from './postgres-state.js';

export const SERVICE = 'https://service.test';
export const fileName = { before: 'a-', after: '.csv' };

/** @param shared of the test file; each test's processes are closed after it. */
export function useAccount(shared: Pick<StateDatabase, 'database'>) {
  const opened: PostgresState[] = [];
  afterEach(async () => {
    for (const state of opened.splice(0)) await state.close();
  });

  /** A process that works on a pipeline, with this many chunks to send. */
  async function openMember(pipeline: string, folios: number, chunks: number, service = SERVICE) {
    const state = await openState(shared.database);
    opened.push(state);
    await state.lock.take(pipeline, { pid: 1, command: 'foliopipe run', since: 0 });
    const { checkpoint } = state;
    const run = `${pipeline}-run`;
    if ((await checkpoint.run(run)) === undefined) {
      await checkpoint.recordRun(sampleRun(run, { pipeline, service }));
      for (let chunk = 1; chunk <= chunks; chunk++) await checkpoint.recordCut(run, sampleChunk(chunk));
    }
    const { permits: table } = state.account({ service, pipeline, folios, perSecond: 1000 });
    const permits: Permits = createSharedPermits(table, { clock: systemClock, doubtfulFor: 0 });
    const nameOf = (chunk: number) => permitName(run, chunk);
    const intend = (chunk: number) => checkpoint.recordIntent(run, chunk, fileName, 1, sampleBudget());
    const accept = async (chunk: number) => {
      const folio = `${run}-${chunk}`;
      await checkpoint.recordAccepted(run, chunk, { folio, serviceRecords: 10, rehearsal: false }, 2);
      await permits.opened?.(nameOf(chunk));
    };
    return {
      ...{ state, checkpoint, run, pipeline, table, permits, nameOf, intend, accept },
      acquire: (chunk: number, signal = noSignal) => permits.acquire(nameOf(chunk), signal),
      send: async (chunk: number) => {
        await intend(chunk);
        await accept(chunk);
      },
      finish: async (chunk: number) => {
        await checkpoint.recordFinished(run, chunk, { successful: 10, failed: 0 }, [], 3);
        await permits.release(nameOf(chunk));
      },
      /** The process is gone; its lease ends. */
      die: () =>
        shared.database.query(
          "UPDATE foliopipe.leases SET until = now() - interval '1 second' WHERE pipeline = $1",
          [pipeline],
        ),
    };
  }

  /** Waits until a pipeline has asked in vain since this call, and so is in the line. */
  async function expectWaiting(pipeline: string): Promise<void> {
    const [now] = await shared.database.query('SELECT clock_timestamp()::text AS at');
    const inLine = () =>
      shared.database.query(
        `SELECT 1 FROM foliopipe.account_pipelines
         WHERE pipeline = $1 AND waits_since IS NOT NULL AND asks_by > $2::timestamptz`,
        [pipeline, now!.at],
      );
    await expect.poll(inLine).toHaveLength(1);
  }

  /** Begins to ask while another process changes the account, and waits for it; that process then commits its change. */
  async function whileChanged<T>(
    change: string,
    ask: () => Promise<T>,
  ): Promise<{ readonly answer: Promise<T> }> {
    const other = await shared.database.connect();
    try {
      await other.query('BEGIN');
      await other.query(change);
      const answer = ask();
      await expect.poll(() => lockWaits(shared.database)).toHaveLength(1);
      await other.query('COMMIT');
      return { answer };
    } finally {
      await other.end();
    }
  }

  return { openMember, expectWaiting, whileChanged };
}
