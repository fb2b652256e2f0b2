/** Which answers are kept: those that the service gave, however a run came to them. */
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adopt, collect, prune, publish, retry, submit } from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { type Answer, predictedAnswer, type SentRecord } from '../../fake-service/parts.js';
import { firstUploadOf } from '../../fake-service/troubles.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import {
  changedLines,
  DAY,
  line,
  sampleLines,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { enrichmentOf, sentOf } from '../../helpers/jobs/sample-source.js';

const A = sampleLines(60);
const noted = (note: string, lines = A) => lines.map((one) => withNote(one, note));

/** A service that fails a record named `Failing` as long as `fails` says so for its n-th upload. */
function stubborn(fails: (nth: number) => boolean): Behaviour {
  const times = new Map<string, number>();
  const answers = new Map<string, Answer[]>();
  const answerTo = (record: SentRecord): Answer => {
    const key = JSON.stringify([record.name, record.address, record.state]);
    const nth = (times.get(key) ?? 0) + 1;
    times.set(key, nth);
    return fails(nth) ? predictedAnswer(record) : healed(record);
  };
  return {
    receipt: (reply, { id, records }) => {
      answers.set(id, records.map(answerTo));
      return reply;
    },
    results: (results, { id }) => results.map((one, at) => ({ ...one, ...answers.get(id)![at]! })),
  };
}

function healed(record: SentRecord): Answer {
  return predictedAnswer({ ...record, name: record.name!.replace('Failing', 'Better') });
}

describe('lineage', () => {
  it('names the run, folio, part and record that paid', async () => {
    await withNights({ config: { output: { lineage: true } } }, async (nights) => {
      const first = await nights.night(A);
      const of = new Map((await nights.rows()).map((row) => [row.id, row]));
      nights.pass(3 * DAY);
      const B = changedLines(A, 3);
      const second = await nights.night(B);
      const fresh = new Set(unknownNames(B, A));
      const twins = (row: Record<string, string>) => row.Business === 'Twin & Sons';
      for (const [at, row] of (await nights.rows()).entries()) {
        if (fresh.has(row.Business!)) {
          expect(row.prediction_run, row.id).toBe(second.run);
          expect(row.prediction_record, row.id).toBe(String(at + 1));
        } else {
          const paid = of.get(row.id)!;
          expect(row.prediction_run, row.id).toBe(first.run);
          if (twins(row)) continue;
          for (const name of ['folio', 'part', 'record', 'answered_at']) {
            expect(row[`prediction_${name}`], `${row.id} ${name}`).toBe(paid[`prediction_${name}`]);
          }
        }
      }
    });
  });
});

describe('a retry', () => {
  it('gives its answers to the next night', async () => {
    const isGood = { value: false };
    await withNights({ behaviour: stubborn(() => !isGood.value) }, async (nights) => {
      const { run } = await nights.night(A);
      isGood.value = true;
      const retried = await retry(nights.config(), run, nights.options);
      expect(retried.counts.failed).toBe(0);
      expect(await nights.night(noted('b'))).toMatchObject({ bought: [], counts: { failed: 0 } });
    });
  });

  it('that fails again counts as newer: failedAge begins again', async () => {
    await withNights({ behaviour: stubborn(() => true) }, async (nights) => {
      const { run, counts } = await nights.night(A);
      nights.pass(6 * DAY);
      const retried = await retry(nights.config(), run, nights.options);
      expect(retried.counts).toEqual(counts);
      nights.pass(2 * DAY);
      expect((await nights.night(noted('b'))).bought).toEqual([]);
      nights.pass(6 * DAY);
      expect((await nights.night(noted('c'))).bought).toHaveLength(counts.failed);
    });
  });

  it('of a night with reuse asks again for what failed tonight', async () => {
    const isGood = { value: false };
    await withNights({ behaviour: stubborn(() => !isGood.value) }, async (nights) => {
      await nights.night(A);
      const B = [...noted('b'), line('Failing New'), line('Good New')];
      const second = await nights.night(B);
      expect(second.bought).toEqual(['Failing New', 'Good New']);
      isGood.value = true;
      const since = nights.service.folios.length;
      const retried = await retry(nights.config(), second.run, nights.options);
      expect(retried.counts.failed).toBe(second.counts.failed - 1);
      expect(
        nights.service.folios.slice(since).map(({ records }) => records.map(({ name }) => name)),
      ).toEqual([['Failing New']]);
      const third = await nights.night(noted('c', B));
      expect(third).toMatchObject({ bought: [], counts: { failed: second.counts.failed - 1 } });
    });
  });

  it('of reused failures is a new run that takes no failures', async () => {
    const isGood = { value: false };
    await withNights({ behaviour: stubborn(() => !isGood.value) }, async (nights) => {
      await nights.night(A);
      const second = await nights.night(noted('b'));
      expect(second.counts.failed).toBeGreaterThan(0);
      isGood.value = true;
      const third = await nights.again({ reuse: { failedAge: 0 } }, { fresh: true });
      expect(third.bought).toHaveLength(second.counts.failed);
      expect(third.counts.failed).toBe(0);
    });
  });
});

describe('rounds', () => {
  it('ask again for what failed tonight, and their answers are kept', async () => {
    const distinct = Array.from({ length: 40 }, (_, at) =>
      line(at % 4 === 0 ? `Failing ${at}` : `Shop ${at}`),
    );
    const behaviour = stubborn((nth) => nth === 1);
    await withNights({ behaviour, config: { failures: { rounds: 1 } } }, async (nights) => {
      const summary = await nights.night(distinct);
      expect(summary.counts).toMatchObject({ read: 40, failed: 0 });
      expect(summary.bought).toHaveLength(50);
      const next = await nights.night([...noted('b', distinct), line('Failing New')]);
      expect(next.bought).toEqual(['Failing New', 'Failing New']);
      expect(next.counts).toMatchObject({ read: 41, failed: 0 });
      await expectEnriched(nights, (row) => enrichmentOf(healed(sentOf(row))));
    });
  });

  it('do not ask again for reused failures', async () => {
    await withNights({ config: { failures: { rounds: 1 } } }, async (nights) => {
      const first = await nights.night(A);
      expect(first.bought.length).toBeGreaterThan(60);
      expect((await nights.night(noted('b'))).bought).toEqual([]);
      const third = await nights.night([...noted('c'), line('Failing New')]);
      expect(third.bought).toEqual(['Failing New', 'Failing New']);
      await expectEnriched(nights);
    });
  });
});

describe('records without an answer', () => {
  it('because the service refused them are sent again', async () => {
    await withNights({}, async (nights) => {
      nights.service.behaviour = {
        trouble: ({ operation, nth }) =>
          operation === 'upload' && nth === 3 ? { kind: 'answer', status: 413, body: '{}' } : undefined,
      };
      const lines = [line('One'), line('Two'), line('Three')];
      const first = await nights.night(lines, { chunks: { maxRecords: 1 }, concurrency: { uploads: 1 } });
      expect(first.counts).toMatchObject({ successful: 2, failed: 1 });
      expect((await nights.rows()).map((row) => row.prediction_error_code)).toEqual([
        '',
        '',
        'RECORD_REFUSED',
      ]);
      expect((await nights.night(noted('b', lines))).bought).toEqual(['Three']);
      await expectEnriched(nights);
    });
  });

  it('failed without a reason are not sent again before failedAge', async () => {
    const style = () => ({ columns: (all: readonly string[]) => all.filter((name) => name !== 'reason') });
    await withNights({ behaviour: { style } }, async (nights) => {
      await nights.night([line('Good'), line('Failing Co')]);
      expect((await nights.night([line('Good', '1 Main St', 'MT', 'b'), line('Failing Co')])).bought).toEqual(
        [],
      );
    });
  });

  it('of a chunk that is held are sent the next night', async () => {
    const hold = { ambiguous: { policy: 'hold' } };
    const trouble = firstUploadOf([2], { kind: 'lose', share: 0 });
    await withNights({ behaviour: { trouble }, config: hold }, async (nights) => {
      expect(await nights.night(A)).toMatchObject({ exitCode: 3, counts: { unprocessed: 10 } });
      const summary = await nights.night(noted('b'));
      expect(summary.bought.length).toBeLessThanOrEqual(10);
      expect(summary.bought.length).toBeGreaterThan(7);
    });
  });

  it('that are adopted have one', async () => {
    const hold = { ambiguous: { policy: 'hold' } };
    const trouble = firstUploadOf([2], { kind: 'lose', share: 0 });
    await withNights({ behaviour: { trouble }, config: hold }, async (nights) => {
      const held = await nights.night(A);
      const folio = nights.service.folios.find(({ chunk }) => chunk === 2)!.id;
      await adopt(nights.config(), { run: held.run, chunk: 2, folio }, nights.options);
      expect(await nights.again()).toMatchObject({ exitCode: 0, bought: [] });
      expect((await nights.night(noted('b'))).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('are adopted on a night with reuse', async () => {
    const hold = { ambiguous: { policy: 'hold' } };
    await withNights({ config: hold }, async (nights) => {
      await nights.night(A);
      const since = nights.service.folios.length;
      let lost = true;
      nights.service.behaviour = {
        trouble: ({ operation }) => {
          if (operation !== 'upload' || !lost) return undefined;
          lost = false;
          return { kind: 'lose', share: 0 };
        },
      };
      const B = changedLines(A, 3);
      const held = await nights.night(B);
      expect(held).toMatchObject({ exitCode: 3, counts: { unprocessed: unknownNames(B, A).length } });
      const folio = nights.service.folios[since]!.id;
      await adopt(nights.config(), { run: held.run, chunk: 1, folio }, nights.options);
      expect(await nights.again()).toMatchObject({ exitCode: 0, bought: [] });
      await expectEnriched(nights);
      expect((await nights.night(noted('b', B))).bought).toEqual([]);
    });
  });
});

describe('a file that is too large for the service', () => {
  it('is halved on a night with reuse', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      nights.service.behaviour = {
        trouble: ({ operation, nth }) =>
          operation === 'upload' && nth === 7 ? { kind: 'answer', status: 413, body: '{}' } : undefined,
      };
      const B = [...noted('b'), ...Array.from({ length: 8 }, (_, at) => line(`New ${at}`))];
      const summary = await nights.night(B);
      expect(summary.bought).toEqual(unknownNames(B, A));
      expect(summary.uploads.accepted).toBe(2);
      await expectEnriched(nights);
      expect((await nights.night(noted('c', B))).bought).toEqual([]);
    });
  });
});

describe('submit and collect', () => {
  it('make the same night', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const B = changedLines(A, 3);
      await nights.write(B);
      const since = nights.service.folios.length;
      await submit(nights.config(), nights.options);
      const collected = await collect(nights.config(), nights.options);
      expect(collected).toMatchObject({ exitCode: 0, state: 'done' });
      expect(nights.service.folios.slice(since).flatMap(({ records }) => records)).toHaveLength(
        unknownNames(B, A).length,
      );
      await expectEnriched(nights);
      expect((await nights.night(noted('c', B))).bought).toEqual([]);
    });
  });

  it('with nothing to send', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      await nights.write(noted('b'));
      await submit(nights.config(), nights.options);
      expect(await collect(nights.config(), nights.options)).toMatchObject({ exitCode: 0, state: 'done' });
      await expectEnriched(nights);
    });
  });
});

describe('pruning', () => {
  it('of results leaves the answers', async () => {
    await withNights({ config: { retention: { results: '1d' } } }, async (nights) => {
      await nights.night(A);
      await nights.night([...noted('b'), line('New')]);
      nights.pass(3 * DAY);
      await prune(nights.config(), nights.options);
      const summary = await nights.night([...noted('c'), line('New', '1 Main St', 'MT', 'c')]);
      expect(summary.bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('removes the choices of runs that cannot be published again', async () => {
    await withNights({ config: { retention: { results: '1d' } } }, async (nights) => {
      for (const note of ['a', 'b', 'c', 'd']) {
        await nights.night(noted(note));
        nights.pass(2 * DAY);
      }
      await prune(nights.config(), nights.options);
      const choices = await readdir(join(nights.config().stateDir, 'reuse', 'choices'));
      expect(choices.length).toBeLessThanOrEqual(1);
    });
  });
});

describe('publishing a night again', () => {
  it('gives the same bytes, whatever was bought since', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      const B = changedLines(A, 3);
      const second = await nights.night(B);
      const bytes = await readFile(nights.outputPath);
      await nights.night(noted('c'), {}, { reuse: false });
      await nights.write(B);
      await rm(nights.outputPath);
      await publish(nights.config(), second.run, nights.options);
      expect(await readFile(nights.outputPath)).toEqual(bytes);
    });
  });
});
