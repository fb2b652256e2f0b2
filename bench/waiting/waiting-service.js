/** The service that only waits, in a process of its own. */
import { spawn } from 'node:child_process';
import { program } from '../lab.js';
import { listeningAddress, stopped } from '../service.js';

/**
 * @param options those of `service.js`.
 * @param body gets the address, and a function that asks for the figures of the service.
 */
export async function withWaitingService(options, body) {
  const child = spawn(process.execPath, [program('waiting/service.js'), JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const baseUrl = await listeningAddress(child);
    await body(baseUrl, async () => (await fetch(`${baseUrl}/figures`)).json());
  } finally {
    await stopped(child);
  }
}
