/** Preloaded into a measured process: at its end, writes what the system has counted for this process only. */
import { readFileSync, writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = {
    userSeconds: userCPUTime / 1e6,
    systemSeconds: systemCPUTime / 1e6,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakRssMB: ((peakOfThisProgram() ?? maxRSS) * 1024) / 1e6,
  };
  writeFileSync(process.env.FOLIOPIPE_BENCH_USAGE, JSON.stringify(usage));
});

/** In KiB. Linux lets `maxRSS` begin with the peak of whoever started this process; this figure does not. */
function peakOfThisProgram() {
  try {
    const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return found === null ? undefined : Number(found[1]);
  } catch {
    return undefined;
  }
}
