/** Before each change of an output it is asked whether the output is still this pipeline's. */
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { outputLockPath } from '../../../src/checkpoint/sqlite/output-lock.js';
import { LockedError } from '../../../src/errors.js';
import type { OutputStore } from '../../../src/files/output-store.js';
import { outputNames } from '../../../src/run/check/check-output.js';
import { createGuardedOutput } from '../../../src/run/open/prepare-output.js';
import { createReleasers } from '../../../src/run/open/releasers.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();
const releasers = createReleasers();
afterEach(() => releasers.close());

/** An output that is prepared. @param expectHeld of the pipeline's lock. */
async function prepared(expectHeld: () => Promise<void> = async () => undefined) {
  const run = await createStageRun(await folder());
  const { path } = run.config.output;
  const state = { store: run.output, lock: { expectHeld, close: async () => undefined }, outputs: undefined };
  const guarded = createGuardedOutput(run.config, {}, run, state, releasers);
  await guarded.prepareOutput(path);
  const work = join(run.config.stateDir, '..', 'work');
  await writeFile(work, 'a,b\n');
  const names = outputNames(path, run.config.stateDir);
  const changes: readonly ((store: OutputStore) => Promise<unknown>)[] = [
    (store) => store.put(work, path, 0o644),
    (store) => store.remove(path),
    (store) => store.checkWritable(names),
    async (store) => store.sweep!(path, run.config.pipeline, []),
  ];
  return { ...guarded, path, changes };
}

it('each change is refused once another pipeline has published there', async () => {
  const { output, path, changes } = await prepared();
  await changes[0]!(output);
  await writeFile(`${path}.manifest.json`, JSON.stringify({ pipeline: 'other' }, null, 2));
  for (const change of changes) {
    await expect(change(output)).rejects.toMatchObject({ code: 'OUTPUT_OF_OTHER_PIPELINE' });
  }
  expect(existsSync(path)).toBe(true);
});

it('each change is refused once the lock of the pipeline is lost', async () => {
  const lost = new LockedError('LOCKED', 'another process has it', { hint: 'wait' });
  const { output, path, changes } = await prepared(() => Promise.reject(lost));
  for (const change of changes) await expect(change(output)).rejects.toBe(lost);
  expect(existsSync(path)).toBe(false);
});

it('a lock whose file was removed is taken again, and the same output is prepared once', async () => {
  const { output, path, changes, prepareOutput } = await prepared();
  await rm(outputLockPath(path));
  await changes[0]!(output);
  expect(existsSync(outputLockPath(path))).toBe(true);
  await prepareOutput(path);
});
