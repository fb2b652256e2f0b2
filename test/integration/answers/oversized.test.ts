/** Folios that hold far more than was sent for are refused at once, and in flat memory. */
import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { openFakeService } from '../../fake-service/fake-service.js';
import { predictedAnswer } from '../../fake-service/parts.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { expectUntrusted, withJob } from '../../helpers/jobs/fake-service-job.js';
import { spawnCli } from '../../helpers/processes/cli.js';
import { serveToken } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const wide = Object.fromEntries(Array.from({ length: 60_000 }, (_, at) => [`c${at}`, 'x']));

const oversized: [string, string, Behaviour, number][] = [
  [
    'a part of 60,000 columns',
    'PART_TOO_WIDE',
    {
      answer: (record, index) =>
        index === 0 ? { status: 'SUCCESSFUL', added: wide } : predictedAnswer(record),
    },
    1,
  ],
  [
    'more parts than records',
    'TOO_MANY_PARTS',
    {
      tracking: (reply) => ({
        ...reply,
        segmentation: Array.from({ length: 5000 }, (_, part) => ({ part, range: '[1-1]' })),
      }),
    },
    0,
  ],
];

it.each(oversized)('%s are answers that cannot be trusted', async (_, code, behaviour, downloads) => {
  await withJob({ behaviour, config: { concurrency: { uploads: 1, downloads: 1 } } }, async (job) => {
    const error = await expectUntrusted(job, code);
    expect(error.message).toMatch(/^chunk \d: folio F\S+ /);
    expect(error.facts).toMatchObject({ chunk: 1, folio: job.service.folios[0]!.id });
    expect(job.service.count('download')).toBe(downloads);
  });
});

/** `concurrency.downloads`, by default. */
const DOWNLOADS = 4;

describe.skipIf(process.platform !== 'linux')('200 parts for 200 records', () => {
  const run = async (pipeline: string, bytes: number) => {
    const service = await openFakeService(
      {
        finishedAtPoll: () => 1,
        partRecords: 1,
        answer: () => ({ status: 'SUCCESSFUL', added: { code: 'x'.repeat(bytes) } }),
      },
      serveToken,
    );
    const job = await createJob(await folder(), { pipeline, baseUrl: service.url, records: 200, chunk: 200 });
    const child = spawnCli(['run', job.config], { env: job.env });
    let isRunning = true;
    const ended = child.ended.finally(() => {
      isRunning = false;
    });
    let peakMb = 0;
    while (isRunning) {
      peakMb = Math.max(peakMb, await peakMemoryOf(child.pid));
      await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 10))]);
    }
    const { code, stderr } = await ended;
    await service.close();
    return { code, stderr, peakMb, downloads: service.count('download') };
  };

  it('of 1.8 MB each: the second one is one too many', async () => {
    const { code, stderr, peakMb, downloads } = await run('large-parts', 1_800_000);
    expect(code, stderr).toBe(6);
    expect(stderr).toMatch(/chunk 1: folio F\S+ has more than [\d.]+ MB .* \[FOLIO_TOO_LARGE\]/);
    // Those in flight end; no other one begins.
    expect(downloads).toBeLessThanOrEqual(1 + DOWNLOADS);
    expect(peakMb).toBeLessThan(150);
  });

  it('of 4 KB each are what they may be', async () => {
    const { code, stderr, peakMb, downloads } = await run('small-parts', 4000);
    expect(code, stderr).toBe(0);
    expect(downloads).toBe(200);
    expect(peakMb).toBeLessThan(150);
  });
});

/** The peak memory of a process so far, in MB; 0 when it has ended. */
async function peakMemoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}
