/** A clock that is set wrong while a night goes on, or when a done one is looked at again. */
import { expect, it } from 'vitest';
import { InterruptedError, openCheckpointReader } from '../../../pipelines/index.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';
import { DAY, line, withNights, withNote } from '../../helpers/jobs/nights.js';

const old = Array.from({ length: 20 }, (_, at) => line(`Shop ${at}`));
const config = { failures: { tolerate: '100%' }, reuse: { failedAge: '80d' } };

it.each([true, false])(
  'takes away nothing that was bought (the night is continued: %s)',
  async (isStopped) => {
    await withNights({ config }, async (nights) => {
      await nights.night(old);
      const second = [...old.map((one) => withNote(one, 'second')), line('New 1'), line('New 2')];
      if (isStopped) {
        const stop = { ...nights.options, ...stopAt('after-accepted-before-poll', 1) };
        const { error } = await nights.badNight(second, {}, stop);
        expect(error).toBeInstanceOf(InterruptedError);
      } else await nights.night(second);
      nights.pass(366 * DAY);
      expect(await nights.again()).toMatchObject({ found: isStopped ? 'continued' : 'done', bought: [] });
      nights.pass(-366 * DAY);
      const reader = (await openCheckpointReader(nights.config().stateDir))!;
      expect((await reader.runs()).map(({ prunedAt }) => prunedAt)).toEqual([null, null]);
      await reader.close();
      const third = second.map((one) => withNote(one, 'third'));
      expect(await nights.night(third)).toMatchObject({ found: 'new', bought: [] });
    });
  },
);
