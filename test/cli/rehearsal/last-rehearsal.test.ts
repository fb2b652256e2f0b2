import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { type Config, LockedError, parseConfig } from '../../../pipelines/index.js';
import { createFileLock } from '../../../src/checkpoint/sqlite/pipeline-lock.js';
import { continueOrClear } from '../../../src/cli/rehearsal/last-rehearsal.js';
import { silentLogger } from '../../../src/logger.js';
import { useFolder } from '../../helpers/folders/folders.js';

const folder = useFolder();
const holder = { pid: process.pid, command: 'test' };
const options = () => ({ signal: new AbortController().signal, logger: silentLogger, holder });

async function makeState(): Promise<Config> {
  const stateDir = join(await folder(), 'rehearsal');
  for (const name of [
    ...['checkpoint.db', 'checkpoint.db-wal', 'checkpoint.db.checked', 'runs/one/part', 'service/service.db'],
    ...['reuse/segments/one.seg', 'deltas/nightly.d/last.json', 'spool/nightly.d/piece', 'not-ours.txt'],
  ]) {
    await mkdir(join(stateDir, dirname(name)), { recursive: true });
    await writeFile(join(stateDir, name), 'no database');
  }
  return parseConfig(
    {
      pipeline: 'nightly',
      source: { path: 'source.csv' },
      upload: { columns: { name: 'Name' } },
      service: { embedded: true },
      output: { path: 'enriched.csv' },
      stateDir,
    },
    await folder(),
  );
}

it('removes a state that cannot be continued: only its own files, and not the lock', async () => {
  const config = await makeState();
  expect(await continueOrClear(config, false, options())).toBeUndefined();
  expect((await readdir(config.stateDir)).sort()).toEqual(['locks', 'not-ours.txt']);
});

it('changes nothing while another process rehearses the same', async () => {
  const config = await makeState();
  const lock = await createFileLock(config.stateDir).take(config.pipeline, { ...holder, since: 0 });
  const before = (await readdir(config.stateDir, { recursive: true })).sort();
  await expect(continueOrClear(config, true, options())).rejects.toThrow(LockedError);
  expect((await readdir(config.stateDir, { recursive: true })).sort()).toEqual(before);
  await lock.close();
  expect(await continueOrClear(config, true, options())).toBeUndefined();
});
