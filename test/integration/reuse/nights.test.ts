/** Nights that follow each other: only records that were never answered are bought (docs/delta-nights.md). */
import { describe, expect, it } from 'vitest';
import { expectEnriched, expectSuccess, failingAmong } from '../../helpers/jobs/fake-service-job.js';
import {
  changedLines,
  DAY,
  expectBalance,
  line,
  sampleLines,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { predictedEnrichment } from '../../helpers/jobs/sample-source.js';

const A = sampleLines(200);
const B = changedLines(A, 2);

describe('a night with the answers of earlier nights', () => {
  it('buys what is new, and every row has the answer of the service: A, B, A', async () => {
    await withNights({}, async (nights) => {
      const first = await nights.night(A);
      expect(first.bought).toHaveLength(200);
      await expectEnriched(nights);

      const second = await nights.night(B);
      expect(second.bought).toEqual(unknownNames(B, A));
      expect(second).toMatchObject({ exitCode: 0, found: 'new' });
      expectBalance(second);
      await expectEnriched(nights);

      const third = await nights.night(A);
      expect(third).toMatchObject({ exitCode: 0, found: 'done', bought: [] });
      await expectEnriched(nights);

      const noted = A.map((one) => withNote(one, 'again'));
      const fourth = await nights.night(noted);
      expect(fourth).toMatchObject({ exitCode: 0, found: 'new', bought: [] });
      await expectEnriched(nights);

      const fifth = await nights.night(B.map((one) => withNote(one, 'last')));
      expect(fifth).toMatchObject({ exitCode: 0, found: 'new', bought: [] });
      await expectEnriched(nights);
    });
  });

  it('with nothing new sends nothing, and publishes', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const requests = nights.service.seen.length;
      const noted = A.map((one) => withNote(one, 'again'));
      const summary = await nights.night(noted);
      expect(nights.service.seen.length).toBe(requests);
      await expectSuccess(nights, summary, failingAmong(200));
      await expectEnriched(nights);
      expect(summary.publication).toBe(2);
    });
  });

  it('takes the answer that was given, not the one that would be given today', async () => {
    let version = 1;
    const answer = (record: Readonly<Record<string, string>>) => {
      const { status, code, error, added } = predictedEnrichment({
        Business: record.name!,
        Address: record.address!,
        State: record.state!,
      });
      void code;
      return status === 'SUCCESSFUL'
        ? { status, added: { ...added, version: `v${version}` } }
        : { status: 'FAILED' as const, added: { reason: `${error} v${version}` } };
    };
    await withNights({ behaviour: { answer: answer as never } }, async (nights) => {
      await nights.night(A);
      version = 2;
      await nights.night(B);
      const fresh = new Set(unknownNames(B, A));
      for (const row of await nights.rows()) {
        const version = fresh.has(row.Business!) ? 'v2' : 'v1';
        if (row.prediction_status === 'SUCCESSFUL') expect(row.prediction_version, row.id).toBe(version);
        else expect(row.prediction_error, row.id).toMatch(new RegExp(`${version}$`));
      }
    });
  });

  it('asks again for a failed record after failedAge, for a successful one after maxAge', async () => {
    await withNights({}, async (nights) => {
      const some = [line('Good'), line('Failing Co')];
      const next = (note: string) => some.map((one) => withNote(one, note));
      expect((await nights.night(some)).bought).toEqual(['Failing Co', 'Good']);
      nights.pass(6 * DAY);
      expect((await nights.night(next('6'))).bought).toEqual([]);
      nights.pass(2 * DAY);
      expect((await nights.night(next('8'))).bought).toEqual(['Failing Co']);
      nights.pass(6 * DAY);
      expect((await nights.night(next('14'))).bought).toEqual([]);
      nights.pass(80 * DAY);
      expect((await nights.night(next('94'), {}, { yes: true })).bought).toEqual(['Failing Co', 'Good']);
      expect((await nights.night(next('94 again'))).bought).toEqual([]);
    });
  });

  it('spreads the end of maxAge over its last fifth', async () => {
    const many = Array.from({ length: 400 }, (_, at) => line(`Shop ${at}`));
    await withNights({ config: { chunks: { maxRecords: 500 } } }, async (nights) => {
      await nights.night(many);
      const bought: number[] = [];
      nights.pass(71 * DAY);
      for (let day = 71; day <= 91; day += 2) {
        const { bought: names } = await nights.night(many.map((one) => withNote(one, `day ${day}`)));
        bought.push(names.length);
        nights.pass(2 * DAY);
      }
      expect(bought[0]).toBe(0);
      expect(bought.reduce((sum, count) => sum + count, 0)).toBe(400);
      expect(Math.max(...bought)).toBeLessThan(100);
    });
  });

  it('asks for all again in another epoch', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const next = (note: string) => A.map((one) => withNote(one, note));
      const raised = { reuse: { epoch: '2' } };
      expect((await nights.badNight(next('b'), raised)).error).toMatchObject({
        code: 'REUSE_MISS',
        hint: expect.stringContaining('reuse.maxAge, the clock of this machine (date), service.baseUrl'),
      });
      expect((await nights.night(next('b'), raised, { yes: true })).bought).toHaveLength(200);
      expect((await nights.night(next('c'), raised)).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });
});
