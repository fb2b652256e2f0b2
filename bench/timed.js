/** What a measured program tells of its work alone, without the start of its process. */

/** Does the work and prints what it returns, with the seconds and CPU seconds that it took, as JSON. */
export async function timed(work) {
  const before = process.cpuUsage();
  const began = performance.now();
  const told = await work();
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ ...told, seconds, workCpuSeconds: (user + system) / 1e6 }));
}
