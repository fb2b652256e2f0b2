/** What goes wrong in a night: machines, runs and the database are killed or stopped. */
import { setTimeout as sleep } from 'node:timers/promises';

export const LEASE_MS = 6000;
export const DATABASE_AWAY_MS = 10_000;

/** Between the slot of a paid request and its POST: armed for every third run that strikes itself, the first one too. */
const BEFORE_POST = 'after-slot-before-post';
/** The failpoints of the other runs: around the reply, and around commits. */
const FAILPOINTS = [
  'after-post-before-commit',
  'after-accepted-before-poll',
  'after-part-file-before-commit',
  'after-part-before-downloaded',
  'after-work-write-before-commit',
  'after-publishing-before-rename',
  'after-marker-before-done',
];

/**
 * One thing that goes wrong.
 * @param newWorker starts a worker with these variables.
 * @param totals counts what was struck.
 */
export async function strike({ workers, newWorker, database, totals, random, watch }) {
  const alive = [...workers].filter((worker) => !worker.isGone());
  const busy = alive.filter((worker) => worker.runs().length > 0);
  // Most strikes hit workers that have a run.
  if (busy.length === 0 && random(5) > 0) return;
  const struck = busy.length > 0 && random(8) > 0 ? busy : alive;
  const worker = struck[random(struck.length)];
  const runs = worker?.runs() ?? [];
  const run = runs[random(runs.length)];
  const which = random(100);
  if (worker === undefined) return;
  if (which < 35) {
    totals.killedWorkers += 1;
    await watch.lost(runs, worker.pid);
    await worker.kill();
  } else if (which < 50) {
    totals.stoppedWorkers += 1;
    await watch.lost(runs, worker.pid);
    worker.pause();
    setTimeout(worker.wake, LEASE_MS + 1000 + random(6000)).unref();
  } else if (which < 62 && run !== undefined) {
    totals.killedRuns += 1;
    await watch.struck(worker.pid);
    signal(run, 'SIGKILL');
  } else if (which < 70 && run !== undefined) {
    totals.stoppedRuns += 1;
    await watch.struck(worker.pid);
    signal(run, 'SIGSTOP');
    setTimeout(() => signal(run, 'SIGCONT'), LEASE_MS + 4000 + random(6000)).unref();
  } else if (which < 82) {
    // A machine whose next run strikes itself.
    const isBeforePost = totals.failpoints % 3 === 0;
    totals.failpoints += 1;
    await watch.lost(runs, worker.pid);
    await worker.kill();
    workers.delete(worker);
    const how = !isBeforePost && random(3) === 0 ? 'pause' : 'kill';
    const point = isBeforePost ? BEFORE_POST : FAILPOINTS[random(FAILPOINTS.length)];
    const nth = isBeforePost ? 1 : 1 + random(3);
    workers.add(newWorker({ FOLIOPIPE_CRASH_AT: `${point}:${nth}:${how}` }));
  } else if (which < 97) {
    totals.inTransactions += 1;
    totals.killedWorkers += 1;
    const held = database.holdTable(
      ['foliopipe.chunks', 'foliopipe.uploads', 'foliopipe.parts'][random(3)],
      700,
    );
    await sleep(400);
    await watch.lost(runs, worker.pid);
    await worker.kill();
    await held;
  } else {
    totals.databaseStops += 1;
    watch.forget();
    await database.breakFor(DATABASE_AWAY_MS);
    watch.forget();
  }
}

function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended by itself.
  }
}
