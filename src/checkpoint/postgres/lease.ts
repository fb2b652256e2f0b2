/**
 * The locks of pipelines as leases, by the clock of the database. A lease ends by itself, so that another machine can
 * go on when this one has died; its number, the fence, increases with each holder. Every change proves the lease
 * (state-session.ts). Leases have a connection of their own: no long statement delays a renewal.
 */

import { hostname } from 'node:os';
import { type Fence, leaseLost } from '../../postgres/fenced.js';
import type { PostgresSession } from '../../postgres/session.js';
import { epochMs, type Prepared, statement } from '../../postgres/statement.js';
import { leadOf } from '../../streams/clock.js';
import type { Milliseconds } from '../../types.js';
import {
  type HeldLock,
  LeaseHeldError,
  type LockHolder,
  lockedError,
  type PipelineLock,
  type WorkingProcess,
} from '../pipeline-lock.js';

/** How long a lease lasts, and how often it is renewed, in ms. */
interface LeaseTimes {
  readonly lease: number;
  readonly renew: number;
}

/**
 * Called with the reason when the database cannot be reached while a lease is held, and with undefined when it answers
 * again.
 * @param leftMs until the lease ends, and with it the work.
 */
export type HearTrouble = (trouble: unknown, leftMs: Milliseconds) => void;

/** Begins the names of leases that lock outputs; the path follows. No pipeline has such a name. */
export const OUTPUT = 'output:';

let times: LeaseTimes = { lease: 30_000, renew: 10_000 };

/** The times of leases that are taken from now on. */
export function leaseTimes(): LeaseTimes {
  return times;
}

/** Only for proofs, which wait for the ends of leases: all processes of a state must have the same times. */
export function shortenLeases(lease: Milliseconds): void {
  times = { lease, renew: lease / 3 };
}

// The row of an output is removed when it is free, because paths with dates would fill the table. So its numbers begin
// at the present time: no later holder gets the number of a process that was paused.
const add = statement(`
  INSERT INTO leases (pipeline, fence, until)
  VALUES (@pipeline, CASE WHEN @isOutput::boolean THEN ${epochMs('clock_timestamp()')}::int8 ELSE 0 END, '-infinity')
  ON CONFLICT (pipeline) DO NOTHING`);
const NOW = `${epochMs('clock_timestamp()')} AS now`;
// Without SKIP LOCKED, a statement that has waited would write a lease that has already expired.
const take: Prepared<{ fence: number; now: number }> = statement(`
  WITH expired AS (
    SELECT pipeline FROM leases WHERE pipeline = @pipeline AND until < clock_timestamp() FOR UPDATE SKIP LOCKED)
  UPDATE leases SET fence = fence + 1, holder = @holder,
    until = clock_timestamp() + @leaseMs::float8 * interval '1 millisecond'
  FROM expired WHERE leases.pipeline = expired.pipeline RETURNING fence, ${NOW}`);
const LEFT = `${epochMs('until - clock_timestamp()')} AS "leftMs"`;
const readHolder: Prepared<{ holder: string | null; until: string; leftMs: number }> = statement(`
  SELECT holder, until::text AS until, ${LEFT}
  FROM leases WHERE pipeline = @pipeline AND until > clock_timestamp()`);
const readHeld: Prepared<{ pipeline: string; holder: string | null; leftMs: number }> = statement(`
  SELECT pipeline, holder, ${LEFT}
  FROM leases WHERE until > clock_timestamp() AND pipeline NOT LIKE '${OUTPUT}%' ORDER BY pipeline`);
const renew: Prepared<{ now: number }> = statement(`
  UPDATE leases SET until = clock_timestamp() + @leaseMs::float8 * interval '1 millisecond'
  WHERE pipeline = @pipeline AND fence = @fence AND until > clock_timestamp() RETURNING ${NOW}`);
const release = statement(
  "UPDATE leases SET until = '-infinity' WHERE pipeline = @pipeline AND fence = @fence RETURNING 1",
);
const remove = statement('DELETE FROM leases WHERE pipeline = @pipeline AND fence = @fence RETURNING 1');

const pipelines: Prepared<{ pipeline: string }> = statement(`
  SELECT pipeline FROM runs UNION SELECT pipeline FROM single_searches UNION SELECT @own
  UNION SELECT pipeline FROM leases WHERE pipeline NOT LIKE '${OUTPUT}%' ORDER BY pipeline`);

/** The process that holds the lease of a pipeline; undefined if there is none. */
export async function leaseHolder(
  db: Pick<PostgresSession, 'query'>,
  pipeline: string,
): Promise<WorkingProcess | undefined> {
  const [row] = await db.query(readHolder, { pipeline }, true);
  const holder = holderIn(row);
  if (holder === undefined) return undefined;
  const silentMs = silence(row!.leftMs);
  return {
    ...holder,
    leaseLeftMs: Math.round(row!.leftMs),
    ...(silentMs !== null && { leaseSilentMs: silentMs }),
  };
}

/** A lease that is held now. */
export interface HeldLease {
  readonly pipeline: string;
  readonly holder: LockHolder | undefined;
  /** How long it lasts unless it is renewed, in ms. */
  readonly leftMs: number;
  /** How long ago its holder last renewed it, in ms; null while its renewals are on time. */
  readonly silentMs: number | null;
}

/** The leases of pipelines that are held now. */
export async function heldLeases(db: Pick<PostgresSession, 'query'>): Promise<readonly HeldLease[]> {
  const rows = await db.query(readHeld, {}, true);
  return rows.map((row) => ({
    pipeline: row.pipeline,
    leftMs: Math.round(row.leftMs),
    holder: holderIn(row),
    silentMs: silence(row.leftMs),
  }));
}

/** How long ago a lease was renewed, if that is longer than it should be. */
function silence(leftMs: number): number | null {
  const { lease, renew } = leaseTimes();
  return leftMs > (lease - renew) * 0.9 ? null : Math.round(lease - leftMs);
}

function holderIn(row: { readonly holder: string | null } | undefined): LockHolder | undefined {
  return row?.holder ? (JSON.parse(row.holder) as LockHolder) : undefined;
}

/**
 * @param open returns the connection for the leases; called for each lease that is taken.
 * @param fence receives the lease that is held.
 * @param hear called once when the database is away, and once when it is back.
 */
export function createLeases(
  open: () => Promise<PostgresSession>,
  fence: Fence,
  own: LeaseTimes = leaseTimes(),
  hear: HearTrouble = () => undefined,
): PipelineLock {
  return {
    take: async (pipeline, holder) => {
      const db = await open();
      await db.query(add, { pipeline, isOutput: isOutput(pipeline) }, true);
      const here: LockHolder = { ...holder, host: hostname() };
      const values = { pipeline, holder: JSON.stringify(here), leaseMs: own.lease };
      // Counts from before the request, because this process may be paused before it has read the answer.
      let end = endOf(own);
      const [taken] = await db.query(take, values, false, () => {
        end = endOf(own);
      });
      if (taken !== undefined) return hold(db, pipeline, { ...taken, end }, fence, own, hear);
      const [row] = await db.query(readHolder, { pipeline }, true);
      const { code, message, facts } = lockedError(
        pipeline,
        holderIn(row),
        fence.held?.pipeline === pipeline,
      );
      // A lease that has just ended is taken by the next attempt.
      throw new LeaseHeldError(code, message, { facts }, row ?? { until: '', leftMs: 0 });
    },
  };
}

function isOutput(pipeline: string): boolean {
  return pipeline.startsWith(OUTPUT);
}

/**
 * When a lease that is requested now ends. The clock of a process stops while its whole machine is paused; the clock of
 * the machine may go on.
 */
interface LeaseEnd {
  readonly ofProcess: Milliseconds;
  readonly ofMachine: Milliseconds;
}

function endOf({ lease }: Pick<LeaseTimes, 'lease'>): LeaseEnd {
  return { ofProcess: performance.now() + lease, ofMachine: Date.now() + lease };
}

function hold(
  db: PostgresSession,
  pipeline: string,
  taken: { readonly fence: number; readonly now: number; readonly end: LeaseEnd },
  fence: Fence,
  { lease, renew: renewEvery }: LeaseTimes,
  hear: HearTrouble,
): HeldLock {
  const { fence: number } = taken;
  const controller = new AbortController();
  const values = { pipeline, fence: number };
  fence.held = { pipeline, number };
  let isClosed = false;
  let { end } = taken;
  let lead = leadOf(taken.now, 0);
  const isOver = () => performance.now() >= end.ofProcess;
  const leftMs = () => Math.min(end.ofProcess - performance.now(), end.ofMachine - Date.now());
  const lookEvery = Math.min(renewEvery, 1_000);
  /** For how long a renewal has had no answer, while this process was not paused itself. */
  let silentMs = 0;
  /** Why the last renewal has failed. */
  let failure: unknown;
  const trouble = () =>
    db.trouble() ?? failure ?? (silentMs >= Math.max(lease / 5, 2 * lookEvery) ? db.noAnswer() : undefined);
  const lostError = () =>
    leaseLost(pipeline, isOutput(pipeline) ? `the output ${pipeline.slice(OUTPUT.length)}` : undefined);
  const lose = () => {
    if (isClosed) return;
    // A process that was paused itself knows of no trouble: it cannot say whether the database has answered.
    controller.abort(trouble() ?? lostError());
  };
  fence.loss = () => {
    if (isOver()) lose();
    return controller.signal.reason;
  };
  /**
   * @returns whether it is still held.
   * @throws if the database cannot be reached for as long as a lease lasts.
   */
  const extend = async (): Promise<boolean> => {
    let next = end;
    const [renewed] = await db.query(renew, { ...values, leaseMs: lease }, true, () => {
      next = endOf({ lease });
    });
    silentMs = 0;
    failure = undefined;
    if (renewed === undefined) return false;
    end = next;
    lead = leadOf(renewed.now, lead);
    return true;
  };
  let isReported = false;
  const report = () => {
    const now = trouble();
    if ((now !== undefined) === isReported) return;
    isReported = now !== undefined;
    hear(now, Math.max(end.ofProcess - performance.now(), 0));
  };
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    extend()
      .catch((error: unknown) => {
        const isLeft = !isOver();
        // After the end of the lease, an error proves nothing: a pause may have ended the connection too.
        if (isLeft) failure = error;
        return isLeft;
      })
      .then((isHeld) => {
        isAsking = false;
        if (!isHeld) lose();
      });
  }, renewEvery);
  timer.unref();
  // Notices a server that does not answer by this process's own clock, on which the lease never ends later.
  const watch = setInterval(() => {
    if (isAsking) silentMs += lookEvery;
    if (isOver()) lose();
    else report();
  }, lookEvery);
  watch.unref();
  return {
    lost: controller.signal,
    isHeld: () => !controller.signal.aborted && leftMs() > 0,
    now: () => Date.now() + lead,
    expectHeld: async () => {
      // No other process can take the lease before it ends, and one of the two clocks of this machine shows that end too.
      controller.signal.throwIfAborted();
      if (leftMs() > lease / 2) return;
      if (!(await extend())) {
        lose();
        throw lostError();
      }
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      clearInterval(timer);
      clearInterval(watch);
      // A lease that has ended needs no release; a database that does not answer is not waited for.
      if (isOver() || trouble() !== undefined) return;
      const [released] = await db.query(isOutput(pipeline) ? remove : release, values, true);
      // After a loss the fence stays set, so that later changes of this process fail.
      if (released === undefined) return;
      if (fence.held?.number === number && fence.held.pipeline === pipeline) fence.held = undefined;
    },
  };
}

/** The pipelines of a state, also those that have no run yet. @param own one that may have never begun. */
export async function pipelinesOf(
  db: Pick<PostgresSession, 'query'>,
  own: string,
): Promise<readonly string[]> {
  return (await db.query(pipelines, { own }, true)).map(({ pipeline }) => pipeline);
}
