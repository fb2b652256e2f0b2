/** A night that sends few of many records: killed and continued, it has the same chunks, and pays for none twice. */
import { readFile, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Failpoint } from '../../../src/failpoints.js';
import { useSharedFolder } from '../../helpers/folders/folders.js';
import { createJob, enrichJob, type Job, killJobAt } from '../../helpers/jobs/cli-job.js';
import { callMain } from '../../helpers/processes/call-main.js';
import { useServe } from '../../helpers/service/serve.js';

const RECORDS = 1_000;
/** Numbers of the records that are changed in the second night: three chunks. */
const CHANGED = new Set([1, 2, 17, 18, 400, 401, 402, 403, 640, 641, 999, 1_000]);
const CHUNK = 5;

const folder = useSharedFolder();
const serve = useServe({ segmentRecords: 100 });
let expected: Buffer;

beforeAll(async () => {
  const job = await createJob(await folder(), { pipeline: 'plain', baseUrl: serve.url, chunk: RECORDS });
  await writeFile(job.source, source('second'));
  expect(await enrichJob(job)).toMatchObject({ exitCode: 0 });
  expected = await readFile(job.output);
});

/** By window: at which passing the second night is killed. */
const windows: readonly (readonly [Failpoint | undefined, number])[] = [
  [undefined, 0],
  ['after-run-before-chunk', 1],
  ['after-cut-before-chunk-file', 2],
  ['after-cut-before-intent', 3],
  ['after-accepted-before-poll', 1],
];

const pipelineOf = (point: Failpoint | undefined) => `few-${point ?? 'never'}`;

describe('a night with few changed records', () => {
  it.each(windows)('sends them in the same chunks, killed %s', async (point, nth) => {
    const job = await secondNight(pipelineOf(point));
    if (point !== undefined) await killJobAt(job, `${point}:${nth}`);
    const chunks = Math.ceil(CHANGED.size / CHUNK);
    expect(await enrichJob(job)).toMatchObject({ exitCode: 0, uploads: { accepted: chunks } });
    expect((await readFile(job.output)).equals(expected)).toBe(true);
  });

  it('has paid for no record twice', async () => {
    for (const [point] of windows) {
      const sent = await serve.served(`${pipelineOf(point)}-2`);
      // The first night has sent all records in one chunk.
      expect(sent.map(({ records }) => records).sort((a, b) => a - b)).toEqual([2, 5, 5, RECORDS]);
    }
  });
});

/** A job whose first night is done, with the source of the second one. */
async function secondNight(pipeline: string): Promise<Job> {
  const settings = {
    concurrency: { uploads: 1, folios: 4, downloads: 1 },
    chunks: { maxRecords: CHUNK },
    reuse: { maxAge: '90d' },
  };
  const job = await createJob(await folder(), { pipeline, baseUrl: serve.url, chunk: CHUNK, settings });
  await writeFile(job.source, source('first'));
  const first = ['run', job.config, '--set', `chunks.maxRecords=${RECORDS}`];
  expect(await callMain(first, { env: job.env })).toMatchObject({ code: 0 });
  await writeFile(job.source, source('second'));
  return job;
}

/** Records over several lines, the last one without a line end. */
function source(night: 'first' | 'second'): string {
  const rows = Array.from({ length: RECORDS }, (_, at) => {
    const other = night === 'second' && CHANGED.has(at + 1) ? ' Annex' : '';
    return `"Shop, ""${at}""\nLtd${other}",${at} Main St,MT,note`;
  });
  return `BusinessName,Address,State,Note\n${rows.join('\n')}`;
}
