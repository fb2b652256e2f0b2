/** The state folder as kill -9 leaves it at a named window, for a job within this process. */
import { cpSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { expect } from 'vitest';
import { type Config, type CrashPoint, InterruptedError, type RunOptions } from '../../pipelines/index.js';

/** What a job gives: its config, and the error that it ends with. */
export interface Killable {
  config(): Config;
  failure(changes?: undefined, options?: RunOptions): Promise<unknown>;
}

/**
 * Runs a job up to the `nth` passing of a window; its state is then what it was at that moment, while the service goes
 * on with what reached it.
 */
export async function killAt(job: Killable, point: CrashPoint, nth: number): Promise<void> {
  const { stateDir } = job.config();
  const image = `${stateDir}.image`;
  const controller = new AbortController();
  let passed = 0;
  const at = (here: CrashPoint) => {
    if (here !== point) return;
    passed += 1;
    if (passed !== nth) return;
    cpSync(stateDir, image, { recursive: true, preserveTimestamps: true });
    controller.abort(new InterruptedError('SIGTERM'));
  };
  expect(await job.failure(undefined, { at, signal: controller.signal })).toBeInstanceOf(InterruptedError);
  await rm(stateDir, { recursive: true });
  await rename(image, stateDir);
}
