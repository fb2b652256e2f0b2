/**
 * Preloaded into the client with `node --import`: an armed failpoint fills the disk instead of killing the process.
 * `PROVE_FILLER` names the file that grows. The call blocks, so nothing of the client is written in between.
 */
import { fillDisk } from './small-disk.js';

const kill = process.kill.bind(process);

process.kill = (pid, signal) => {
  if (pid !== process.pid || signal !== 'SIGKILL') return kill(pid, signal);
  fillDisk(process.env.PROVE_FILLER);
  return true;
};
