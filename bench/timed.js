/** Measures the work of a program, without the start of its process. */
import { existsSync, readFileSync } from 'node:fs';

/**
 * Does the work and prints what it returns, with the seconds and CPU seconds that it took, as JSON; on Linux also with
 * the CPU seconds of this process and its children, which have ended when the work has.
 */
export async function timed(work) {
  const before = process.cpuUsage();
  const family = cpuOfFamily(process.pid);
  const began = performance.now();
  const result = await work();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(before);
  const familyCpuSeconds = family === undefined ? undefined : cpuOfFamily(process.pid) - family;
  console.log(
    JSON.stringify({ ...result, seconds, workCpuSeconds: (user + system) / 1e6, familyCpuSeconds }),
  );
}

/**
 * CPU seconds of a process and of its children that have ended; of a server, those of its closed connections.
 * @returns undefined where there is no /proc.
 */
export function cpuOfFamily(pid) {
  if (!existsSync('/proc/self/stat')) return undefined;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}
