/** `publish` asks the service for nothing: folios that are not collected yet are counted, with the next command. */
import { expect, it } from 'vitest';
import { publish, submit } from '../../../pipelines/index.js';
import { withJob } from '../../helpers/jobs/fake-service-job.js';

it('says how many chunks are not collected, and that run does so without paying again', async () => {
  await withJob({ behaviour: { finishedAtPoll: () => 1 } }, async (job) => {
    await submit(job.config({ concurrency: { folios: 6 } }));
    const asked = job.service.seen.length;
    await expect(publish(job.config(), 'last')).rejects.toMatchObject({
      code: 'CHUNKS_MISSING',
      exitCode: 5,
      message: expect.stringMatching(/: 6 chunks are not collected yet$/),
      hint: 'foliopipe run or foliopipe collect waits for them and publishes; nothing is paid again',
    });
    expect(job.service.seen).toHaveLength(asked);
    expect(await job.enrich()).toMatchObject({ exitCode: 0 });
    expect(job.service.count('upload')).toBe(6);
  });
});
