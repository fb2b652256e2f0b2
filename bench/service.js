/** The local service in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TOKEN } from './job.js';

export const cli = fileURLToPath(new URL('../dist/bundle/cli.js', import.meta.url));

/**
 * Runs a body beside a service whose predictions cost next to nothing; its folios are kept in `data`.
 * @param options more of the command line of `foliopipe serve`.
 */
export function withService(data, body, options = []) {
  const all = ['--port', '0', '--predictor', 'hash', '--token', TOKEN, '--data', data, ...options];
  return withServer([cli, 'serve', ...all], body);
}

/** Runs a body beside a server in a process of its own. @param args script first. */
export async function withServer(args, body) {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  // What it says before it listens may be the reason why it ends.
  child.stderr.pipe(process.stderr);
  try {
    const address = await listeningAddress(child);
    child.stderr.unpipe().resume();
    return await body(address);
  } finally {
    await stopped(child);
  }
}

/** Where a server says that it listens. */
export async function listeningAddress(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const found = /listening on (\S+)/.exec(line);
    if (found) return found[1];
  }
  throw new Error('the server ended before it listened');
}

export async function stopped(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await once(child, 'exit');
}
