/** Measures how soon each run goes on elsewhere whose process was struck. */
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Notices when the pipelines of struck processes have a lease again, or are done.
 * @param recoveries receives after how many ms each has gone on.
 */
export function watchLeases(database, recoveries) {
  const lost = new Map();
  let isEnded = false;
  const look = async () => {
    for (; !isEnded; await sleep(100)) {
      if (lost.size === 0) continue;
      const leases = await database.ask('SELECT pipeline, fence FROM foliopipe.leases');
      const jobs = await database.ask(
        "SELECT singleton_key AS pipeline, data ? 'trouble' AS pauses FROM foliopipe_jobs.job WHERE name = 'runs' AND state <= 'active'",
      );
      if (leases === undefined || jobs === undefined) continue;
      for (const [pipeline, { fence, since }] of lost) {
        const lease = leases.find((one) => one.pipeline === pipeline);
        const job = jobs.find((one) => one.pipeline === pipeline);
        // A run that crashed on its way is repeated after a pause.
        if (job?.pauses) lost.delete(pipeline);
        else if (lease !== undefined && (Number(lease.fence) > fence || job === undefined)) {
          lost.delete(pipeline);
          recoveries.push(Date.now() - since);
        }
      }
    }
  };
  /** Pipelines with which a struck worker was about to go on are lost once more. */
  const struck = async (pid) => {
    const rows = await database.ask('SELECT facts FROM foliopipe.workers');
    const facts = (rows ?? []).map((row) => JSON.parse(row.facts)).find((one) => one.pid === pid);
    for (const [pipeline, known] of lost) {
      if (facts?.pipelines.includes(pipeline)) lost.set(pipeline, { ...known, since: Date.now() });
    }
  };
  const looking = look();
  return {
    /** Remembers which pipelines the processes have, before they are struck. */
    lost: async (pids, pid) => {
      await struck(pid);
      const rows = await database.ask(
        "SELECT pipeline, fence, holder FROM foliopipe.leases WHERE until > now() AND pipeline NOT LIKE 'output:%'",
      );
      for (const { pipeline, fence, holder } of rows ?? []) {
        if (holder === null || !pids.includes(JSON.parse(holder).pid)) continue;
        lost.set(pipeline, { fence: Number(fence), since: Date.now() });
      }
    },
    struck,
    /** While the database is away, nobody can go on. */
    forget: () => lost.clear(),
    end: async () => {
      isEnded = true;
      await looking;
    },
  };
}
