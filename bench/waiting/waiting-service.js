/** The service that only waits, in a process of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { program } from '../lab.js';
import { listeningAddress, stopped } from '../service.js';

/** Otherwise, on a busy machine, it would count several requests at once that came one after the other. */
const realTime = spawnSync('chrt', ['--fifo', '1', 'true']).status === 0 ? ['chrt', '--fifo', '1'] : [];

/**
 * @param options those of `service.js`.
 * @param body gets the address, and a function that asks for the figures of the service.
 */
export async function withWaitingService(options, body) {
  const [command, ...args] = [
    ...realTime,
    ...[process.execPath, program('waiting/service.js'), JSON.stringify(options)],
  ];
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const baseUrl = await listeningAddress(child);
    await body(baseUrl, async () => (await fetch(`${baseUrl}/figures`)).json());
  } finally {
    await stopped(child);
  }
}
