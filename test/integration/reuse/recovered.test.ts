/** A delta night whose checkpoint is lost: it is rebuilt with what the night has chosen, and with the stored answers. */
import { describe, expect, it } from 'vitest';
import { recover } from '../../../pipelines/index.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import {
  changedLines,
  expectBalance,
  sampleLines,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { killAt, loseCheckpoint } from '../../helpers/state/killed-state.js';

const A = sampleLines(200);
const B = changedLines(A, 2);

describe('a lost checkpoint', () => {
  it.each(['after-accepted-before-poll', 'after-merged-before-next'] as const)(
    'of a delta night that was killed %s: it goes on with its choice, and later nights reuse all',
    async (point) => {
      await withNights({ config: { concurrency: { uploads: 1 } } }, async (nights) => {
        await nights.night(A);
        const since = nights.service.folios.length;
        await nights.write(B);
        await killAt(nights, point, 1);
        await loseCheckpoint(nights);
        const recovered = await recover(nights.config());
        expect(recovered.runs.map(({ state }) => state).sort()).not.toContain(null);
        expect(recovered.answers).toMatchObject({ segments: 1, lost: [] });

        const night = await nights.again();
        expect(night).toMatchObject({ exitCode: 0 });
        expectBalance(night);
        await expectEnriched(nights);
        const bought = nights.service.folios
          .slice(since)
          .flatMap(({ records }) => records.map(({ name }) => name));
        expect(bought.sort()).toEqual(unknownNames(B, A));

        const last = await nights.night(B.map((one) => withNote(one, 'last')));
        expect(last).toMatchObject({ exitCode: 0, bought: [] });
        await expectEnriched(nights);
      });
    },
  );
});
