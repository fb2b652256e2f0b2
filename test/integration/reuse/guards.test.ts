/** What a night with reuse asks before it pays, and what it does not ask twice. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import {
  changedLines,
  DAY,
  line,
  type Nights,
  sampleLines,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';

const A = sampleLines(60);
const noted = (note: string) => A.map((one) => withNote(one, note));
const strangers = Array.from({ length: 60 }, (_, at) => line(`Stranger ${at}`));

describe('reuse.maxMiss', () => {
  it('stops a night that would buy more than its share, before any upload; --yes passes', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const mixed = [...noted('x').slice(0, 29), ...strangers.slice(0, 31)];
      const { error, bought } = await nights.badNight(mixed);
      expect(error).toMatchObject({
        exitCode: 9,
        code: 'REUSE_MISS',
        hint: expect.stringMatching(/--yes.*reuse\.maxAge, service\.baseUrl/),
      });
      expect(error).toMatchObject({ facts: { sent: 31, records: 60 } });
      expect(bought).toEqual([]);
      expect((await nights.again({}, { yes: true })).bought).toHaveLength(31);
      await expectEnriched(nights);
    });
  });

  it('allows exactly its share, and does not apply to a first night', async () => {
    await withNights({ config: { reuse: { maxMiss: '50%' } } }, async (nights) => {
      expect((await nights.night(A)).bought).toHaveLength(60);
      const half = [...noted('x').slice(0, 30), ...strangers.slice(0, 30)];
      expect((await nights.night(half)).bought).toHaveLength(30);
    });
  });

  it('leaves no choice behind, however often it stops a night', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      for (let times = 0; times < 3; times++) await nights.badNight(strangers);
      expect(await readdir(join(nights.config().stateDir, 'reuse/choices'))).toHaveLength(1);
    });
  });

  it('leaves nothing behind that stops or blocks the next night', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      await nights.badNight(strangers);
      await nights.badNight(strangers);
      const B = changedLines(A, 3);
      expect((await nights.night(B)).bought).toEqual(unknownNames(B, A));
      await expectEnriched(nights);
    });
  });
});

describe('a night without reuse', () => {
  it('buys all again, and its answers are kept', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      expect((await nights.night(noted('b'), {}, { reuse: false })).bought).toHaveLength(60);
      await expectEnriched(nights);
      expect((await nights.night(noted('c'))).bought).toEqual([]);
    });
  });

  it('by its config keeps nothing, and takes nothing', async () => {
    await withNights({ config: { reuse: { maxAge: 0 } } }, async (nights) => {
      await nights.night(A);
      expect((await nights.night(noted('b'))).bought).toHaveLength(60);
    });
  });
});

describe('a budget', () => {
  it('counts what is sent', async () => {
    await withNights({ config: { budget: { perRun: 60 } } }, async (nights) => {
      await nights.night(A);
      const more = [...noted('b'), ...strangers.slice(0, 40)];
      expect((await nights.night(more, { budget: { perRun: 40 } })).bought).toHaveLength(40);
      const { error, bought } = await nights.badNight(
        [...noted('c'), ...strangers.slice(0, 20), line('One more'), line('And one')],
        {
          budget: { perRun: 1 },
        },
      );
      expect(error).toMatchObject({ exitCode: 9 });
      expect(bought).toEqual([]);
    });
  });
});

describe('a canary', () => {
  it('judges records that were never asked before, and the rest is sent after it', async () => {
    await withNights({ config: { chunks: { canary: 3, maxRecords: 5 } } }, async (nights) => {
      await nights.night(A);
      const before = nights.service.folios.length;
      await nights.night([...noted('b'), ...strangers.slice(0, 12)]);
      const sizes = nights.service.folios.slice(before).map(({ records }) => records.length);
      expect(sizes[0]).toBe(3);
      expect(sizes.sort((a, b) => a - b)).toEqual([3, 4, 5]);
      await expectEnriched(nights);
    });
  });

  it('with nothing to send has nothing to judge', async () => {
    await withNights({ config: { chunks: { canary: 3 } } }, async (nights) => {
      await nights.night(A);
      expect(await nights.night(noted('b'))).toMatchObject({ exitCode: 0, bought: [] });
      await expectEnriched(nights);
    });
  });

  it('with fewer records to send than it wants takes all of them', async () => {
    await withNights({ config: { chunks: { canary: 20 } } }, async (nights) => {
      await nights.night(A);
      const summary = await nights.night([...noted('b'), ...strangers.slice(0, 2)]);
      expect(summary).toMatchObject({ exitCode: 0 });
      expect(summary.bought).toHaveLength(2);
      await expectEnriched(nights);
    });
  });
});

describe('early failures', () => {
  it('are those of tonight: reused failures do not stop the uploads', async () => {
    const failing = Array.from({ length: 60 }, (_, at) => line(`Failing ${at}`));
    const good = strangers.slice(0, 20);
    await withNights({}, async (nights) => {
      await nights.night([...failing, ...good]);
      const summary = await nights.night(
        [...failing, ...good, line('One more')].map((one) => withNote(one, 'b')),
      );
      expect(summary.bought).toEqual(['One more']);
      expect(summary).toMatchObject({ exitCode: 0, counts: { failed: 60 } });
      await expectEnriched(nights);
    });
  });

  /** 40 records, of which the service fails each time those that stand first. */
  const standing = [
    ...Array.from({ length: 4 }, (_, at) => line(`Failing ${at}`)),
    ...strangers.slice(0, 36),
  ];
  const withStanding = (chunks: object, use: (nights: Nights) => Promise<void>) => {
    // One chunk after the other, so that each is counted before the next is sent.
    const concurrency = { uploads: 1, folios: 1, downloads: 1 };
    const config = { chunks, concurrency, failures: { tolerate: '10%' } };
    return withNights({ config }, async (nights) => {
      // The first night has no guard against them.
      await nights.night(standing, { chunks: { canary: 0, maxRecords: 40 } });
      nights.pass(8 * DAY);
      await use(nights);
    });
  };

  it.each([[{ maxRecords: 2 }], [{ maxRecords: 2, canary: 3 }]])(
    'are not those of records that were asked before (%j)',
    async (chunks) => {
      await withStanding(chunks, async (nights) => {
        const summary = await nights.night(standing.map((one) => withNote(one, 'b')));
        expect(summary).toMatchObject({ exitCode: 0, outdated: 4, counts: { successful: 36, failed: 4 } });
        expect(summary.bought).toHaveLength(4);
      });
    },
  );

  it('are those of new records, also among others', async () => {
    await withStanding({ maxRecords: 2 }, async (nights) => {
      const fresh = Array.from({ length: 6 }, (_, at) => line(`Failing as well ${at}`));
      const { error } = await nights.badNight([...standing.slice(0, 1), ...fresh, ...standing.slice(1)]);
      expect(error).toMatchObject({ exitCode: 9, code: 'FAILURE_RATE' });
    });
    await withStanding({ canary: 3 }, async (nights) => {
      const { error } = await nights.badNight([line('Failing too'), ...standing]);
      expect(error).toMatchObject({
        code: 'CANARY_FAILED',
        message: expect.stringMatching(/1 of 1 records? failed.*\(1\)$/),
      });
    });
  });

  it('the whole output is judged by failures.tolerate', async () => {
    await withNights({ config: { failures: { tolerate: '10%' } } }, async (nights) => {
      const lines = [...strangers.slice(0, 18), line('Failing 1'), line('Failing 2')];
      expect(await nights.night(lines)).toMatchObject({ exitCode: 0 });
      const fewer = lines.slice(2).map((one) => withNote(one, 'b'));
      expect(await nights.night(fewer)).toMatchObject({ exitCode: 3, bought: [], counts: { failed: 2 } });
    });
  });
});
