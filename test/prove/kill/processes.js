/** The client and the service as processes that are killed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const cli = fileURLToPath(new URL('../../../dist/bundle/cli.js', import.meta.url));

/**
 * Starts the service on the folder of a job.
 * @param port 0 takes a free one.
 * @param speed records a second; 0: no limit.
 */
export async function startService(work, port, { speed = 1200, segmentRecords = 40 } = {}) {
  const process_ = spawn(
    process.execPath,
    [
      cli,
      'serve',
      '--port',
      `${port}`,
      '--token',
      'kill',
      '--predictor',
      'hash',
      '--records-per-second',
      `${speed}`,
      '--segment-records',
      `${segmentRecords}`,
      '--data',
      join(work, 'service'),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let stderr = '';
  process_.stderr.on('data', (text) => {
    stderr = `${stderr}${text}`.slice(-2000);
  });
  for await (const line of createInterface({ input: process_.stdout })) {
    const found = /listening on (\S+)/.exec(line);
    if (found) return { process: process_, url: found[1] };
  }
  throw new Error(`the service ended before it listened:\n${stderr}`);
}

/** @returns the child, and a promise of its end, with the text of its stderr. */
export function startClient(config, command = 'run') {
  const child = spawn(process.execPath, [cli, command, config, '--log-level', 'warn'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (text) => {
    stderr += text;
  });
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal, stderr }));
  return { process: child, exited };
}

export async function kill(child, signal) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
