/** Nights by the real command, against the local service in another process; the rows are those of runs without reuse. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, type Job } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { jsonLines } from '../../helpers/processes/cli.js';
import { servedFolios, spawnServe } from '../../helpers/service/serve.js';

const folder = useSharedFolder();
let serve: Awaited<ReturnType<typeof spawnServe>>;

beforeAll(async () => {
  serve = await spawnServe(join(await folder(), 'service'), { recordsPerSecond: 0, segmentRecords: 7 });
});
afterAll(() => serve.kill());

/** Some names of a world of businesses, with quotes, newlines and letters beyond ASCII. */
function source(numbers: readonly number[], note: string): string {
  const rows = numbers.map(
    (n) => `"Bäckerei ""${n}""\n& Co","${n} Main St, 2nd",${n % 2 ? 'MT' : 'WY'},${note}`,
  );
  return `BusinessName,Address,State,Note\n${rows.join('\n')}\n`;
}

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
const A = range(0, 60);
const B = [...range(3, 60).reverse(), ...range(100, 103), ...range(3, 5)];

/** Runs the command on a source. */
async function night(job: Job, text: string, ...flags: string[]) {
  await writeFile(job.source, text);
  const end = await callMain(['run', job.config, '--json', ...flags], { env: job.env });
  const summary = jsonLines(end.stdout).at(-1) as { counts: object; uploads: { accepted: number } };
  return { ...end, summary };
}

/** What a run without reuse, and with a state of its own, makes of a source. */
async function plainOutput(pipeline: string, text: string): Promise<string> {
  const job = await createJob(await folder(), { pipeline, baseUrl: serve.url });
  await writeFile(job.source, text);
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  return readFile(job.output, 'utf8');
}

describe('foliopipe run with reuse', () => {
  it('buys what is new: A, B, A', async () => {
    const settings = { reuse: { maxAge: '90d' } };
    const job = await createJob(await folder(), { pipeline: 'nights', baseUrl: serve.url, settings });
    const uploads: number[] = [];
    for (const [at, text] of [source(A, 'one'), source(B, 'two'), source(A, 'three')].entries()) {
      const { code, stderr, summary } = await night(job, text);
      expect(code, stderr).toBe(0);
      uploads.push(summary.uploads.accepted);
      expect(await readFile(job.output, 'utf8')).toBe(await plainOutput(`plain-${at}`, text));
    }
    expect(uploads).toEqual([6, 1, 0]);

    const strangers = source(range(200, 260), 'four');
    const miss = await night(job, strangers);
    expect(miss.code).toBe(9);
    expect(miss.summary).toMatchObject({
      error: { code: 'REUSE_MISS', hint: expect.stringContaining('--yes') },
    });
    expect(miss.stderr).toContain('60 of 60 records (100%) have no answer that can be reused');
    expect((await night(job, strangers, '--yes')).summary.uploads.accepted).toBe(6);
    expect((await night(job, source(A, 'five'), '--no-reuse')).summary.uploads.accepted).toBe(6);

    await serve.kill();
    const own = servedFolios(join(await folder(), 'service')).filter(({ fileName }) =>
      fileName.startsWith('nights-2'),
    );
    expect(own.map(({ records }) => records)).toEqual([...Array(6).fill(10), 3, ...Array(12).fill(10)]);
  });

  it('with the embedded service reuses, too', async () => {
    const settings = {
      reuse: { maxAge: '90d' },
      service: { embedded: true, requestsPerSecond: 1000, baseUrl: null, token: null },
    };
    const job = await createJob(await folder(), { pipeline: 'embedded', settings });
    expect((await night(job, source(A, 'one'))).summary.uploads.accepted).toBe(6);
    const { code, stderr, summary } = await night(job, source(B, 'two'));
    expect(code, stderr).toBe(0);
    expect(summary.uploads.accepted).toBe(1);
  });
});
