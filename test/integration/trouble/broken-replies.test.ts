/** A service whose status replies break its interface: told apart from an outage, and left again without paying. */
import { expect, it } from 'vitest';
import { abandon } from '../../../pipelines/index.js';
import type { FakeFolio, Reply, TroubleMaker } from '../../fake-service/behaviour.js';
import { type Job, withJob } from '../../helpers/jobs/fake-service-job.js';
import { behaviour } from '../../helpers/jobs/interrupted-job.js';

/** What a service could write into the status of a folio; JSON has no number as large as the last one. */
const breaches: Readonly<Record<string, readonly [change: (reply: Reply) => Reply, where: string]>> = {
  'a part below zero': [
    (reply) => ({ ...reply, segmentation: [{ part: -1, range: '[1-10]' }] }),
    'response.segmentation.0.part',
  ],
  'a part that is no whole number': [
    (reply) => ({ ...reply, segmentation: [{ part: 1e308, range: '[1-10]' }] }),
    'response.segmentation.0.part',
  ],
  'a text for a count': [
    (reply) => ({ ...reply, progressInfo: { ...reply.progressInfo, successfulRecords: 'all of them' } }),
    'response.progressInfo.successfulRecords',
  ],
  'no status': [(reply) => ({ ...reply, progressInfo: {} }), 'response.progressInfo.status'],
};

it.each(Object.entries(breaches))('%s is exit 6, after the other folios', async (_, [change, where]) => {
  const tracking = (reply: Reply, folio: FakeFolio) => (isFirst(folio) ? change(reply) : reply);
  await withJob({ behaviour: { ...behaviour, tracking } }, async (job) => {
    expect(await job.failure()).toMatchObject({
      code: 'REPLY_BREAKS_INTERFACE',
      exitCode: 6,
      message: expect.stringContaining(where),
      hint: expect.stringMatching(/ask the service provider .* foliopipe abandon --run 20\S+ --chunk \d+$/),
      facts: { chunk: 1, folio: expect.any(String) },
    });
    const others = job.service.folios.filter((folio) => !isFirst(folio));
    expect(others.every(({ finished }) => finished)).toBe(true);
    expect(job.service.count('upload')).toBe(6);
    await expectWayOut(job, 1);
  });
});

it('base64 with line breaks in a download is exit 6, after the other folios', async () => {
  const withBreaks = (reply: string) => reply.replace(/("content":"[^"]{8})/, '$1\\r\\n');
  const trouble: TroubleMaker = ({ operation, chunk }) =>
    operation === 'download' && chunk === 1 ? { kind: 'change', change: withBreaks } : undefined;
  await withJob({ behaviour: { ...behaviour, trouble } }, async (job) => {
    expect(await job.failure()).toMatchObject({
      code: 'REPLY_BREAKS_INTERFACE',
      exitCode: 6,
      message: expect.stringMatching(
        /^download: the service keeps answering for folio \S+ .*: the base64 text holds a line break after 8 characters/,
      ),
      hint: expect.stringMatching(/ask the service provider .* foliopipe abandon --run 20\S+ --chunk 1$/),
      facts: { chunk: 1, folio: expect.any(String) },
    });
    expect(job.service.count('upload')).toBe(6);
    job.service.behaviour = behaviour;
    await expectWayOut(job, 1);
  });
});

/** Gives the folio up, as the error says, and publishes the others. */
async function expectWayOut(job: Job, chunk: number): Promise<void> {
  await abandon(job.config(), { run: 'last', chunk });
  expect(await job.enrich()).toMatchObject({ exitCode: 3, counts: { unprocessed: 10 } });
  expect(job.service.count('upload')).toBe(6);
}

function isFirst(folio: FakeFolio): boolean {
  return folio.chunk === 1;
}
