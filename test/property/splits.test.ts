import fc from 'fast-check';
import { expect, it } from 'vitest';
import { RefusedError } from '../../src/errors.js';
import { chunkRecords } from '../../src/stages/chunk/chunk-records.js';
import { submitChunks } from '../../src/stages/submit/submit-chunks.js';
import { createFakeApi, idsOf } from '../fake-service/fake-api.js';
import { withFolder } from '../helpers/folders/folders.js';
import { fineNames, predictedCode, withLocalJob } from '../helpers/jobs/local-job.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';
import { forTime } from '../helpers/properties/for-time.js';
import { createStageRun } from '../helpers/stages/stage-run.js';
import { collect, wholeContent } from '../helpers/streams/collect.js';
import { turns } from '../helpers/streams/gates.js';

const setup = fc
  .record({
    maxRecords: fc.integer({ min: 1, max: 9 }),
    more: fc.integer({ min: 0, max: 12 }),
    uploads: fc.integer({ min: 1, max: 3 }),
    keyColumn: fc.constantFrom('id', null),
    status: fc.constantFrom(400, 422),
    /** Records of the largest file that is not too large. */
    largest: fc.integer({ min: 1, max: 12 }),
  })
  .chain((given) => {
    const records = given.maxRecords + given.more;
    // The service must accept something first: before that, no record is blamed for a refusal.
    const first = Math.min(given.maxRecords, given.largest) + 1;
    const numbers = fc.uniqueArray(fc.integer({ min: first, max: Math.max(first, records) }));
    return numbers.map((some) => {
      const bad = some.filter((number) => number <= records);
      const isFirstSure = bad.length === 0 || given.largest >= given.maxRecords;
      return { ...given, records, bad, uploads: isFirstSure ? given.uploads : 1 };
    });
  });

it('a chunk is halved until its bad records stand alone, whatever is sent beside it', async () => {
  await fc.assert(
    fc.asyncProperty(
      setup,
      fc.nat(),
      async ({ records, bad, maxRecords, uploads, status, largest }, seed) => {
        const service = createFakeApi();
        const upload: typeof service.upload = async (request, signal) => {
          const ids = String(await wholeContent(request.file.open()))
            .split('\n')
            .slice(1, -1)
            .map(Number.parseFloat);
          await turns((seed + ids[0]!) % 4);
          const refusal =
            ids.length > largest ? 413 : ids.some((id) => bad.includes(id)) ? status : undefined;
          if (refusal === undefined) return service.upload(request, signal);
          throw new RefusedError('REFUSED', 'the service refuses', {
            facts: { status: refusal, said: 'no' },
          });
        };
        await withFolder(async (folder) => {
          const run = await createStageRun(folder, {
            records,
            api: { ...service, upload },
            // Many changes, in little time.
            checkpoint: createMemoryCheckpoint(),
            config: {
              chunks: { maxRecords },
              concurrency: { uploads, folios: 100 },
              failures: { maxSplits: 1000 },
            },
          });
          const passed = await collect(submitChunks(run)(chunkRecords(run)()));
          const bought = [...service.folios.values()].flatMap((folio) => idsOf(folio).map(Number));
          const good = Array.from({ length: records }, (_, at) => at + 1).filter((id) => !bad.includes(id));
          expect(bought.sort((a, b) => a - b)).toEqual(good);
          const refused = passed.filter(({ state }) => state === 'refused').map((chunk) => chunk.firstRecord);
          expect(refused.sort((a, b) => a - b)).toEqual([...bad].sort((a, b) => a - b));
          const { chunks } = await run.checkpoint.tally(run.id);
          expect((await run.checkpoint.run(run.id))!.chunks).toBe(chunks.submitted + chunks.refused);
        });
      },
    ),
    forTime(700, 200),
  );
});

it('good records are predicted and paid for once, bad ones are refused and never paid for', async () => {
  await fc.assert(
    fc.asyncProperty(setup, async ({ records, bad, maxRecords, uploads, keyColumn, status, largest }) => {
      const names = fineNames(records).map((name, at) =>
        bad.includes(at + 1) ? `Very Bad ${at + 1}` : name,
      );
      const rules = [
        { on: 'upload', records: { from: largest + 1 }, fault: { status: 413 } },
        { on: 'upload', contains: 'Very Bad', fault: { status } },
      ];
      const config = {
        chunks: { maxRecords },
        concurrency: { uploads },
        upload: { keyColumn },
        failures: { tolerate: '100%', maxSplits: 1000 },
      };
      await withLocalJob({ names, rules, config }, async (job) => {
        const { counts } = await job.enrich();
        expect(counts).toMatchObject({ read: records, successful: records - bad.length, failed: bad.length });
        const rows = await job.rows();
        expect(rows.map(({ Name }) => Name)).toEqual(names);
        const paid = await job.timesPaid();
        for (const [at, { prediction_error_code, prediction_naics_code }] of rows.entries()) {
          const isBad = bad.includes(at + 1);
          expect(prediction_error_code).toBe(isBad ? 'RECORD_REFUSED' : '');
          expect(prediction_naics_code).toBe(isBad ? '' : predictedCode(names[at]!));
          expect(paid.get(at + 1) ?? 0).toBe(isBad ? 0 : 1);
        }
      });
    }),
    { numRuns: 4 },
  );
});
