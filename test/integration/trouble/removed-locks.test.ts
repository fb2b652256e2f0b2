/** Without the folder of the locks, the lock beside the output keeps a second process of the pipeline out. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFakeService } from '../../fake-service/fake-service.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { runCli, spawnCli } from '../../helpers/processes/cli.js';

const folder = useFolder();

it('a second process sends nothing, and the first goes on', async () => {
  let isReady = false;
  const service = await openFakeService({ finishedAtPoll: () => (isReady ? 1 : 1_000_000) });
  const job = await createJob(await folder(), { baseUrl: service.url });
  const env = { FOLIOPIPE_TOKEN: service.token };
  const running = spawnCli(['run', job.config, '--log-level', 'debug'], { env });
  await running.waitFor('stderr', /6 folios? open|chunk 6[^0-9]/);
  const uploads = () => service.count('upload');
  const before = uploads();
  await rm(join(job.stateDir, 'locks'), { recursive: true });
  const second = await runCli(['run', job.config], { env });
  expect(second.code, second.stderr).toBe(11);
  expect(second.stderr).toContain('OUTPUT_LOCKED');
  isReady = true;
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expect([before, uploads()]).toEqual([6, 6]);
  await service.close();
});
