/** The state folder as kill -9 leaves it, for a job in this process, and ways to damage it. */
import { cpSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Config, type Failpoint, InterruptedError, type RunOptions } from '../../../pipelines/index.js';

/** A job with its config and the error that it ends with. */
export interface Killable {
  config(): Config;
  failure(changes?: Readonly<Record<string, object>>, options?: RunOptions): Promise<unknown>;
}

/**
 * Runs a job until it passes a failpoint for the `nth` time, and restores the state folder of that moment. The service
 * keeps what reached it.
 */
export async function killAt(
  job: Killable,
  point: Failpoint,
  nth: number,
  changes: Readonly<Record<string, object>> = {},
): Promise<void> {
  const { stateDir } = job.config();
  const image = `${stateDir}.image`;
  const controller = new AbortController();
  let passed = 0;
  const at = (here: Failpoint) => {
    if (here !== point) return;
    passed += 1;
    if (passed !== nth) return;
    cpSync(stateDir, image, { recursive: true, preserveTimestamps: true });
    controller.abort(new InterruptedError('SIGTERM'));
  };
  expect(await job.failure(changes, { at, signal: controller.signal })).toBeInstanceOf(InterruptedError);
  await rm(stateDir, { recursive: true });
  await rename(image, stateDir);
}

/** The database of the checkpoint, or with `-wal` its log. */
export function checkpointFile(job: Pick<Killable, 'config'>, end = ''): string {
  return join(job.config().stateDir, `checkpoint.db${end}`);
}

/** Removes the database and its log. */
export function loseCheckpoint(job: Pick<Killable, 'config'>): Promise<void> {
  return loseDatabase(job.config().stateDir);
}

/** The same in a state folder. */
export async function loseDatabase(stateDir: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(join(stateDir, `checkpoint.db${end}`), { force: true });
}

/** The journal of the only run in the state folder. */
export async function journalFile(job: Pick<Killable, 'config'>): Promise<string> {
  const runs = join(job.config().stateDir, 'runs');
  return join(runs, (await readdir(runs))[0]!, 'paid.log');
}

/** Changes one bit of a file. */
export async function flipBit(path: string, at: number): Promise<void> {
  const file = await open(path, 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0]! ^= 0x10;
  await file.write(byte, 0, 1, at);
  await file.close();
}
