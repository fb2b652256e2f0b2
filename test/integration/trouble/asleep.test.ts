/** A machine that sleeps for longer than a time-out: what has arrived meanwhile is read first, and nothing is sent again. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Operation } from '../../fake-service/behaviour.js';
import { type FakeService, openFakeService } from '../../fake-service/fake-service.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob } from '../../helpers/jobs/cli-job.js';
import { jsonLines, spawnCli } from '../../helpers/processes/cli.js';
import { serveToken } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
const chunks = 4;
/** Longer than a busy machine needs from the first request to the stop. */
const timeoutMs = 3_000;

/** SIGSTOP is what a suspended machine looks like from inside; /proc shows what waits in a socket. */
describe.skipIf(process.platform !== 'linux')('a process that stands still while replies arrive', () => {
  it.concurrent.each<[Operation, object]>([
    ['upload', { upload: `${timeoutMs}ms` }],
    ['track', { idle: `${timeoutMs}ms` }],
    ['download', { idle: `${timeoutMs}ms` }],
  ])('reads them when it goes on: %s', async (operation, timeouts) => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const service = await openFakeService(
      {
        finishedAtPoll: () => 1,
        hold: (asked) => (asked.operation === operation ? released : undefined),
      },
      serveToken,
    );
    const job = await createJob(await folder(), {
      pipeline: `asleep-${operation}`,
      baseUrl: service.url,
      records: 10 * chunks,
      settings: { timeouts, concurrency: { uploads: chunks, downloads: chunks } },
    });
    const child = spawnCli(['run', job.config, '--json'], { env: job.env });
    await expect.poll(() => service.count(operation)).toBe(chunks);
    child.kill('SIGSTOP');
    const stoppedAt = performance.now();
    await expect.poll(() => stateOf(child.pid)).toBe('T');
    release();
    await expect.poll(() => socketsWithData(service)).toBe(chunks);
    await sleep(stoppedAt + timeoutMs + 200 - performance.now());
    child.kill('SIGCONT');

    const { code, stdout, stderr } = await child.ended;
    expect(code, stderr).toBe(0);
    expect(service.count(operation)).toBe(chunks);
    expect([...service.acceptedByChunk().values()]).toEqual([1, 1, 1, 1]);
    expect(jsonLines(stdout).at(-1)).toMatchObject({ uploads: { accepted: chunks, ambiguous: 0 } });
    await service.close();
  });
});

async function stateOf(pid: number): Promise<string | undefined> {
  return /\) (\S)/.exec(await readFile(`/proc/${pid}/stat`, 'utf8'))?.[1];
}

/** How many client sockets hold bytes that nobody has read (proc(5), /proc/net/tcp). */
async function socketsWithData({ url }: FakeService): Promise<number> {
  const port = Number(new URL(url).port).toString(16).toUpperCase().padStart(4, '0');
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  return lines.filter(
    ([, , remote, , queues]) =>
      remote?.endsWith(`:${port}`) && Number.parseInt(queues!.split(':')[1]!, 16) > 0,
  ).length;
}
