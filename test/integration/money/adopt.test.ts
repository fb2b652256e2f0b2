/** `adopt` binds a folio by hand to a held chunk that the service had accepted, so that nothing is paid twice. */
import { describe, expect, it } from 'vitest';
import { type Adoption, adopt, type Logger, openCheckpointReader } from '../../../pipelines/index.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import {
  expectEnriched,
  expectSuccess,
  failingAmong,
  folioOf,
  type Job,
  withJob,
} from '../../helpers/jobs/fake-service-job.js';

const hold = { ambiguous: { policy: 'hold' } };
const lost = (...chunks: number[]) => firstUploadOf(chunks, { kind: 'lose', share: 0 });

/** The folio that the service accepted for a chunk. */

function refusal(job: Job, what: Adoption): Promise<unknown> {
  return adopt(job.config(hold), what).then(
    () => undefined,
    (error: unknown) => error,
  );
}

function warnings(): { logger: Logger; messages: string[] } {
  const messages: string[] = [];
  const silent = () => undefined;
  const warn = (_: unknown, text?: string) => void messages.push(text ?? '');
  return { logger: { debug: silent, info: silent, warn, error: silent } as Logger, messages };
}

describe('adopting', () => {
  it('opens a published run again, and the next run collects the folio', async () => {
    await withJob({ behaviour: { trouble: lost(2, 4) } }, async (job) => {
      const { logger, messages } = warnings();
      const held = await job.enrich(hold, { logger });
      expect(held).toMatchObject({ exitCode: 3, counts: { unprocessed: 20 } });
      const named = expect.stringMatching(/^hostile-.*-4-1-[0-9a-f]{8}\.csv$/);
      expect(held.adoptable).toMatchObject([{ chunk: 2 }, { chunk: 4, fileName: named }]);
      const how = /if the service lists the file hostile-\S+-4-1-\w+\.csv, bind it: foliopipe adopt --run/;
      expect(messages.filter((text) => how.test(text))).toHaveLength(1);
      expect(messages.at(-1)).toBe(
        'chunk 4 may have been accepted and is not sent again: ambiguous.policy is hold',
      );

      for (const chunk of [4, 2]) {
        const adopted = await adopt(job.config(hold), { run: held.run, chunk, folio: folioOf(job, chunk) });
        expect(adopted).toMatchObject({ chunk, records: 10, serviceRecords: 10, rehearsal: false });
      }
      const summary = await job.enrich(hold);
      expect(summary).toMatchObject({ run: held.run, found: 'continued', adoptable: [] });
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 0, resubmitted: 0 });
      await expectSuccess(job, summary, failingAmong(60));
      await expectEnriched(job);
      expect(job.service.folios).toHaveLength(6);
      expect(job.service.count('upload')).toBe(6);
    });
  });

  it.each([
    ['first', 0],
    ['second', 1],
  ])('the folio of the %s attempt prevents that the chunk is sent again', async (_, which) => {
    // The connection of the other chunk is cut twice, so that the first run ends before anything is final.
    const trouble = ({
      operation,
      chunk,
      again,
    }: {
      operation: string;
      chunk: number | null;
      again: number;
    }) =>
      operation === 'upload' && chunk === 3 && again <= 2 ? ({ kind: 'lose', share: 0 } as const) : undefined;
    await withJob({ behaviour: { trouble } }, async (job) => {
      const error = await job.failure();
      expect(error).toMatchObject({
        code: 'CHUNKS_AMBIGUOUS',
        hint: expect.stringMatching(
          /if the service lists the file \S+-3-2-\w+\.csv, bind it: foliopipe adopt --run \S+ --chunk 3/,
        ),
      });
      const { run } = (error as { facts: { run: string } }).facts;
      const ofChunk = job.service.folios.filter(({ chunk }) => chunk === 3);
      await adopt(job.config(), { run, chunk: 3, folio: ofChunk[which]!.id });
      const summary = await job.enrich();
      await expectSuccess(job, summary, failingAmong(60));
      expect(summary.uploads).toEqual({ accepted: 6, ambiguous: 1, resubmitted: 1 });
      expect(job.service.count('upload')).toBe(7);
      const reader = (await openCheckpointReader(job.config().stateDir))!;
      const states = (await reader.attempts(run, 3)).map(({ state }) => state);
      await reader.close();
      expect(states.indexOf('accepted')).toBe(which);
    });
  });

  it('accepts a service that gives no count, and says so', async () => {
    const tracking = ({ records: _, ...reply }: Record<string, unknown>) => reply;
    await withJob({ behaviour: { trouble: lost(1), tracking } }, async (job) => {
      const { run } = await job.enrich(hold);
      const { logger, messages } = warnings();
      const what = { run, chunk: 1, folio: folioOf(job, 1) };
      expect(await adopt(job.config(hold), what, { logger })).toMatchObject({ serviceRecords: null });
      expect(messages).toEqual([expect.stringContaining('does not say how many records')]);
      await expectSuccess(job, await job.enrich(hold), failingAmong(60));
    });
  });

  it('of a wrong folio is found by the join if the service gives no names, and nothing new is published', async () => {
    const tracking = ({ filename: _, description: __, ...reply }: Record<string, unknown>) => reply;
    await withJob({ behaviour: { trouble: lost(2, 4), tracking } }, async (job) => {
      const { run } = await job.enrich(hold);
      const { logger, messages } = warnings();
      await adopt(job.config(hold), { run, chunk: 2, folio: folioOf(job, 4) }, { logger });
      expect(messages).toEqual([expect.stringContaining('does not say which file folio')]);
      expect(await job.failure(hold)).toMatchObject({ exitCode: 6 });
    });
  });

  it('names the sample to which the chunk belongs: only a run with its limit collects the folio', async () => {
    await withJob({ behaviour: { trouble: lost(2) } }, async (job) => {
      const { run } = await job.enrich(hold, { limit: 30 });
      const adopted = await adopt(job.config(hold), { run, chunk: 2, folio: folioOf(job, 2) });
      expect(adopted).toMatchObject({ run, sample: 30 });
      expect(await job.enrich(hold, { limit: 30 })).toMatchObject({ run, adoptable: [] });
    });
  });

  it('recognises the upload by its description if the service renames files', async () => {
    const tracking = (reply: Record<string, unknown>) => ({
      ...reply,
      filename: `${String(reply.folio)}.dat`,
    });
    await withJob({ behaviour: { trouble: lost(2), tracking } }, async (job) => {
      const { run } = await job.enrich(hold);
      const { logger, messages } = warnings();
      await adopt(job.config(hold), { run, chunk: 2, folio: folioOf(job, 2) }, { logger });
      expect(messages).toEqual([]);
      await expectSuccess(job, await job.enrich(hold), failingAmong(60));
    });
  });
});

it('is refused for the file of another chunk, which is named', async () => {
  await withJob({ behaviour: { trouble: lost(2, 4) } }, async (job) => {
    const { run } = await job.enrich(hold);
    const folio = folioOf(job, 4);
    const refused = {
      code: 'ADOPT_FILE_DIFFERS',
      exitCode: 2,
      message: expect.stringMatching(
        /has the file hostile-\S+-4-1-\w+\.csv and the description "hostile \S+ 4 /,
      ),
      hint: `that is chunk 4 of run ${run}: foliopipe adopt --run ${run} --chunk 4 ${folio}`,
    };
    expect(await refusal(job, { run, chunk: 2, folio })).toMatchObject(refused);
    await adopt(job.config(hold), { run, chunk: 4, folio });
    await adopt(job.config(hold), { run, chunk: 2, folio: folioOf(job, 2) });
    await expectSuccess(job, await job.enrich(hold), failingAmong(60));
    expect(job.service.count('upload')).toBe(6);
  });
});

it('is refused for the same records of another run, by the file name', async () => {
  const trouble = ({ operation, chunk }: { operation: string; chunk: number | null }) =>
    operation === 'upload' && chunk === 2 ? ({ kind: 'lose', share: 0 } as const) : undefined;
  await withJob({ behaviour: { trouble } }, async (job) => {
    const first = await job.enrich(hold);
    const second = await job.enrich(hold, { fresh: true });
    const [ofFirst] = job.service.folios.filter(({ chunk }) => chunk === 2).map(({ id }) => id);
    expect(await refusal(job, { run: second.run, chunk: 2, folio: ofFirst! })).toMatchObject({
      code: 'ADOPT_FILE_DIFFERS',
      hint: `that is chunk 2 of run ${first.run}: foliopipe adopt --run ${first.run} --chunk 2 ${ofFirst}`,
    });
  });
});

it('is refused with the reason and the next step', async () => {
  await withJob({ behaviour: { trouble: lost(2) } }, async (job) => {
    const { run } = await job.enrich(hold);
    const folio = folioOf(job, 2);
    const config = { exitCode: 2, hint: expect.any(String) };
    expect(await refusal(job, { run: 'nope', chunk: 2, folio })).toMatchObject({
      ...config,
      code: 'RUN_UNKNOWN',
    });
    expect(await refusal(job, { run, chunk: 7, folio })).toMatchObject({
      ...config,
      code: 'ADOPT_CHUNK_UNKNOWN',
    });
    expect(await refusal(job, { run, chunk: 3, folio })).toMatchObject({
      ...config,
      code: 'ADOPT_CHUNK_STATE',
      message: expect.stringContaining('is downloaded, folio '),
    });
    expect(await refusal(job, { run, chunk: 2, folio: folioOf(job, 1) })).toMatchObject({
      ...config,
      code: 'ADOPT_FOLIO_BOUND',
      message: expect.stringContaining(`belongs to chunk 1 of run ${run}`),
    });
    expect(await refusal(job, { run, chunk: 2, folio: 'never-given' })).toMatchObject({
      ...config,
      code: 'ADOPT_FOLIO_UNKNOWN',
      message: 'the service does not know folio never-given, so nothing was bound',
      hint: expect.stringContaining(`foliopipe adopt --run ${run} --chunk 2 FOLIO`),
    });
    job.service.behaviour = {
      tracking: (reply) => ({ ...reply, filename: 'their\u001b[31m.csv', description: null }),
    };
    const foreign = (await refusal(job, { run, chunk: 2, folio })) as Error;
    expect(foreign).toMatchObject({ ...config, code: 'ADOPT_FILE_DIFFERS' });
    expect(foreign.message).toMatch(
      /^folio \S+ has the file their \[31m\.csv; the file of chunk 2 of run \S+ is hostile-\S+-2-1-\w{8}\.csv, or/,
    );
    job.service.behaviour = { tracking: (reply) => ({ ...reply, records: 11 }) };
    expect(await refusal(job, { run, chunk: 2, folio })).toMatchObject({
      ...config,
      code: 'ADOPT_RECORDS_DIFFER',
      message: expect.stringMatching(/has 11 records, chunk 2 has 10/),
    });
    job.service.behaviour = {
      trouble: firstUploadOf([3], { kind: 'cut' }),
      finishedAtPoll: () => Number.POSITIVE_INFINITY,
    };
    const other = await job.failure({ poll: { timeout: '1ms' } }, { fresh: true });
    const { run: unfinished } = (other as { facts: { run: string } }).facts;
    expect(await refusal(job, { run, chunk: 2, folio })).toMatchObject({
      ...config,
      code: 'ADOPT_RUN_NOT_LAST',
      facts: { run, unfinished },
    });
    // The refused calls changed nothing.
    expect(await job.manifest()).toMatchObject({ exitCode: 3, counts: { unprocessed: 10 } });
  });
});
