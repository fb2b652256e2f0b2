/** Preloaded into a measured process: at its end it writes what the system has counted of it, and of nothing else. */
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = {
    userSeconds: userCPUTime / 1e6,
    systemSeconds: systemCPUTime / 1e6,
    peakRssMiB: maxRSS / 1024,
  };
  writeFileSync(process.env.FOLIOPIPE_BENCH_USAGE, JSON.stringify(usage));
});
