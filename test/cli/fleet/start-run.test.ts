/** A run that cannot be started has an end like every other one. */
import type { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startRun } from '../../../src/cli/fleet/start-run.js';
import { silentLogger } from '../../../src/logger.js';
import { useFolder } from '../../helpers/folders/folders.js';

/** What Node gives at the limit of open files: no streams, and the error a little later. */
const atTheLimit = (() => {
  const child = Object.assign(new EventEmitter(), { stdout: undefined, stderr: undefined });
  process.nextTick(() => child.emit('error', Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' })));
  return child;
}) as unknown as typeof spawn;

const folder = useFolder();
const from = { host: 'vm', files: [] };
const job = { version: 1, pipeline: 'nightly', config: '{}', flags: {}, from } as const;

it('says at the limit of open files that the run is not started, and leaves no config behind', async () => {
  const scratchDir = await folder();
  const state = 'postgres://h/d';
  const { ended } = startRun(job, { scratchDir, state, logger: silentLogger, logLevel: 'info' }, atTheLimit);
  expect(await ended).toMatchObject({
    exitCode: 5,
    run: null,
    hasReported: true,
    error: { code: 'RUN_NOT_STARTED', message: 'the run cannot be started: spawn EMFILE' },
  });
  expect(existsSync(join(scratchDir, 'jobs', `nightly-${process.pid}.json`))).toBe(false);
});
