/** What every database must hold after a real kill in the middle of a load and the same command again. */
import { expect } from 'vitest';
import { callMain } from '../processes/call-main.js';
import { jsonLines, killCliAt } from '../processes/cli.js';
import type { LoadedJob } from './loaded-job.js';

/** Each failpoint of a load, with the mode in which it is tried. */
export const killedLoads = [
  ['after-load-piece-before-next', 'append'],
  ['after-load-copy-before-rows', 'replace'],
  ['after-load-rows-before-commit', 'merge'],
  ['after-load-commit-before-end', 'append'],
] as const;

/** Kills the job of a source that is written, and runs it again: it pays nothing and loads the publication once. */
export async function expectOneLoadAfterKill(job: LoadedJob, armed: string): Promise<void> {
  await killCliAt(armed, ['run', job.file]);
  const paid = job.service.seen.length;
  const { code, stderr, stdout } = await callMain(['run', '--json', job.file]);
  expect(code, stderr).toBe(0);
  const isCommitted = armed === 'after-load-commit-before-end';
  expect(jsonLines(stdout).at(-1)).toMatchObject({ load: { state: isCommitted ? 'already' : 'loaded' } });
  expect(job.service.seen).toHaveLength(paid);
  expect(await job.loads()).toHaveLength(1);
}
