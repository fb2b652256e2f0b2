/** `upload.duplicates: once`: equal records are bought once, however far apart and however many they are. */
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { createLocalAnswerStore } from '../../../src/reuse/local-answer-store.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import { expectBalance, line, withNights, withNote } from '../../helpers/jobs/nights.js';

const once = { upload: { duplicates: 'once' } };
const shops = (count: number) => Array.from({ length: count }, (_, at) => line(`Shop ${at}`));

describe('equal records', () => {
  it('take the answer of the first, also thousands of them in later stretches', async () => {
    const doubles = 18_000;
    const lines = [
      line('Everywhere'),
      line('Failing Everywhere'),
      ...Array.from({ length: doubles }, (_, at) => line(at % 3 === 0 ? 'Failing Everywhere' : 'Everywhere')),
      ...shops(20),
    ];
    await withNights({ config: { ...once, chunks: { maxRecords: 100 } } }, async (nights) => {
      const summary = await nights.night(lines);
      expect(summary.bought).toHaveLength(22);
      expect(summary.origins).toMatchObject({ sent: { records: 22 }, duplicates: { records: doubles } });
      expectBalance(summary);
      await expectEnriched(nights);

      const next = await nights.night([...lines.map((one) => withNote(one, 'b')), line('New One')]);
      expect(next.bought).toEqual(['New One']);
      expect(next.origins).toMatchObject({ reused: { records: doubles + 22 }, duplicates: { records: 0 } });
      await expectEnriched(nights);
    });
  });

  it('are merged once, though the job looks for rows to merge again before it publishes', async () => {
    await withNights({ config: once }, async (nights) => {
      const answers = createLocalAnswerStore(join(nights.config().stateDir, 'reuse'));
      const openCarried = vi.spyOn(answers, 'openCarried');
      const night = await nights.night([...shops(20), ...shops(5)], {}, { answers });
      expect(night.origins).toMatchObject({ sent: { records: 20 }, duplicates: { records: 5 } });
      expect(openCarried).toHaveBeenCalledTimes(1);
      await expectEnriched(nights);
    });
  });

  it('are UNPROCESSED with a first that is held, and take its answer the next night', async () => {
    const trouble = firstUploadOf([1], { kind: 'lose', share: 0 });
    const config = { ...once, ambiguous: { policy: 'hold' }, chunks: { maxRecords: 10 } };
    await withNights({ behaviour: { trouble }, config }, async (nights) => {
      const lines = [...shops(20), ...shops(5)];
      const held = await nights.night(lines);
      expect(held).toMatchObject({ exitCode: 3, counts: { unprocessed: 15, successful: 10 } });
      expect(held.origins.duplicates).toMatchObject({ records: 5, unprocessed: 5 });
      const next = await nights.night(lines.map((one) => withNote(one, 'b')));
      expect(next.bought).toHaveLength(10);
      expect(next.origins).toMatchObject({
        sent: { records: 10 },
        reused: { records: 10 },
        duplicates: { records: 5 },
      });
      await expectEnriched(nights);
    });
  });
});
