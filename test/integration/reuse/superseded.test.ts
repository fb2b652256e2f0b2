/** Answers of runs that were not published, or that are older than `reuse.maxAge`'s being set. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InterruptedError, showReuse, submit } from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { deadlineAt } from '../../helpers/jobs/deadline.js';
import { expectEnriched } from '../../helpers/jobs/fake-service-job.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';
import {
  changedLines,
  expectBalance,
  type Line,
  line,
  type Nights,
  sampleLines,
  sentKey,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';

const A = sampleLines(60);
const B = changedLines(A, 3);
const noted = (note: string, lines = A) => lines.map((one) => withNote(one, note));

/** @returns the records of A that are in other chunks. */
async function damageFirstPart(nights: Nights): Promise<readonly Line[]> {
  const folder = join(nights.config().stateDir, 'runs');
  const [run] = await readdir(folder);
  const parts = (await readdir(join(folder, run!))).filter((name) => name.startsWith('part-')).sort();
  await writeFile(join(folder, run!, parts[0]!), 'rubbish');
  // The first chunk that is downloaded may be any.
  const last = 10 * Number(/\d+/.exec(parts[0]!)![0]);
  return [...A.slice(0, last - 10), ...A.slice(last)];
}

describe('a run that is superseded', () => {
  it('gives what it has bought to the run that replaces it', async () => {
    await withNights({ config: { source: { onChange: 'supersede' } } }, async (nights) => {
      await nights.write(A);
      await submit(nights.config(), nights.options);
      expect(nights.service.folios).toHaveLength(6);
      const summary = await nights.night(B);
      expect(summary.bought).toEqual(unknownNames(B, A));
      expect(summary.exitCode).toBe(0);
      await expectEnriched(nights);
      expect((await nights.night(noted('c'))).bought).toEqual([]);
    });
  });

  it('after a publication at a deadline gives what it has bought, too', async () => {
    const slow = { finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 2 ? Infinity : 1) };
    const setup = { behaviour: slow, config: { source: { onChange: 'supersede' } } };
    await withNights(setup, async (nights) => {
      const partly = await nights.night(A, {}, deadlineAt({ 'after-downloaded-before-merge': 5 }));
      expect(partly).toMatchObject({ state: 'open', exitCode: 8, publication: 1 });
      nights.service.behaviour = {};
      expect((await nights.night(B)).bought).toEqual(unknownNames(B, A));
      await expectEnriched(nights);
    });
  });

  it('ends with the deadline that comes while its folios are collected, and the next command goes on', async () => {
    const slow = { finishedAtPoll: ({ chunk }: { chunk: number }) => (chunk === 2 ? Infinity : 1) };
    const setup = { behaviour: slow, config: { source: { onChange: 'supersede' } } };
    await withNights(setup, async (nights) => {
      await nights.write(A);
      await submit(nights.config(), nights.options);
      await nights.write(B);
      const deadline = deadlineAt({ 'after-downloaded-before-merge': 5 });
      expect(await nights.failure({}, deadline)).toMatchObject({ code: 'DEADLINE_REACHED', exitCode: 8 });
      nights.service.behaviour = {};
      expect((await nights.again()).bought).toEqual(unknownNames(B, A));
      await expectEnriched(nights);
    });
  });

  it.each([
    'after-last-merge-before-publishing',
    // The columns of the service are then learned from the results.
    'after-downloaded-before-merge',
  ] as const)('of which a part is damaged gives its other answers; stopped %s', async (point) => {
    await withNights({ config: { source: { onChange: 'supersede' } } }, async (nights) => {
      await nights.write(A);
      await submit(nights.config(), nights.options);
      const at = throwAt(point);
      expect(await nights.failure({}, { ...nights.options, at })).toMatchObject({ message: 'killed' });
      const others = await damageFirstPart(nights);
      expect((await nights.night(B)).bought).toEqual(unknownNames(B, others));
      await expectEnriched(nights);
    });
  });

  it('by --new gives what it has bought, too', async () => {
    await withNights({}, async (nights) => {
      await nights.write(A);
      expect(await nights.failure({}, stopAt('after-part-before-downloaded', 4))).toBeInstanceOf(
        InterruptedError,
      );
      const before = nights.service.folios.length;
      const names = nights.service.folios.flatMap(({ records }) => records.map(({ name }) => name!));
      const summary = await nights.again({}, { fresh: true, yes: true });
      expect(before).toBeGreaterThan(0);
      expect(summary.bought.length).toBeLessThan(60);
      expect(summary.bought.length).toBeGreaterThanOrEqual(60 - names.length);
      await expectEnriched(nights);
    });
  });

  it.each([
    ['the same source', A],
    ['another source', B],
  ])('by --new gives what came after a guard had stopped that, too, with %s', async (_, source) => {
    await withNights({}, async (nights) => {
      await nights.write(A);
      await submit(nights.config(), nights.options);
      // Some answers are here when the first attempt is refused, and all of them at the second one.
      const some = await nights.failure({}, stopAt('after-part-before-downloaded', 3));
      expect(some).toBeInstanceOf(InterruptedError);
      await nights.write(source);
      const fresh = { ...nights.options, fresh: true, yes: true };
      const refused = await nights.failure({ budget: { perRun: 1 } }, fresh);
      expect(refused).toMatchObject({ code: 'BUDGET_TOO_SMALL' });
      await nights.write(A);
      const at = throwAt('after-last-merge-before-publishing');
      expect(await nights.failure({}, { ...nights.options, at })).toMatchObject({ message: 'killed' });
      expect(nights.service.folios).toHaveLength(6);
      await nights.write(source);
      expect((await nights.again({}, fresh)).bought).toEqual(unknownNames(source, A));
      await expectEnriched(nights);
      // Chunk files are kept for a segment, which both runs have now.
      const files = await readdir(nights.config().stateDir, { recursive: true });
      expect(files.filter((file) => /\/chunk-/.test(file))).toEqual([]);
    });
  });

  it('a second time, over several nights', async () => {
    await withNights({ config: { source: { onChange: 'supersede' } } }, async (nights) => {
      await nights.night(A);
      await nights.write(B);
      await submit(nights.config(), nights.options);
      const C = changedLines(B, 7);
      const third = await nights.night(C);
      expect(third.bought).toEqual(unknownNames(C, A, B));
      await expectEnriched(nights);
      expect((await nights.night(noted('d', B))).bought).toEqual([]);
    });
  });
});

describe('a night whose publication was interrupted', () => {
  it.each([
    'after-last-merge-before-publishing',
    'after-publishing-before-rename',
    'after-rename-before-manifest',
    'after-marker-before-done',
  ] as const)('%s gives its answers to the next night, whose source has taken its place', async (point) => {
    // Results do not hold all that was sent, so the records are found in the chunk files.
    const behaviour: Behaviour = {
      style: () => ({ columns: (all) => all.filter((column) => column !== 'address') }),
    };
    await withNights({ behaviour, config: { source: { onChange: 'supersede' } } }, async (nights) => {
      await nights.night(A);
      await nights.write(B);
      const at = throwAt(point);
      const error = await nights.failure({}, { ...nights.options, at });
      expect(error).toMatchObject({ message: 'killed' });
      const C = changedLines(B, 7);
      const third = await nights.night(C);
      expect(third.bought).toEqual(unknownNames(C, A, B));
      await expectEnriched(nights);
    });
  });
});

describe('reuse that is turned on', () => {
  it('takes the answers of the last run, where its source is still there', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A, { reuse: { maxAge: 0 } });
      expect((await nights.again({}, { fresh: true })).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('takes all answers of the last run but those of a damaged part', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A, { reuse: { maxAge: 0 } });
      const others = await damageFirstPart(nights);
      expect((await nights.again({}, { fresh: true })).bought).toEqual(unknownNames(A, others));
      await expectEnriched(nights);
    });
  });
});

describe('upload.duplicates: once', () => {
  const once = { upload: { duplicates: 'once' } };
  const twins = unknownNames([...new Map(A.map((one) => [sentKey(one), one])).values()]);

  it('buys equal records once, and gives the answer to all', async () => {
    await withNights({ config: once }, async (nights) => {
      const first = await nights.night(A);
      expect(first.bought).toEqual(twins);
      expect(first.bought.length).toBeLessThan(60);
      expectBalance(first);
      await expectEnriched(nights);
      const second = await nights.night([...noted('b'), line('New'), line('New'), line('New')]);
      expect(second.bought).toEqual(['New']);
      await expectEnriched(nights);
      expect((await nights.night(noted('c'), { upload: { duplicates: 'send' } })).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('without reuse, too', async () => {
    await withNights({ config: { ...once, reuse: { maxAge: 0 } } }, async (nights) => {
      expect((await nights.night(A)).bought).toEqual(twins);
      await expectEnriched(nights);
      expect((await nights.night(noted('b'))).bought).toEqual(twins);
    });
  });

  it('without reuse keeps no answers, which nothing would remove; reuse that is set later takes them', async () => {
    await withNights({ config: once }, async (nights) => {
      await nights.night(A, { reuse: { maxAge: 0 } });
      expect((await showReuse(nights.config())).segments).toEqual([]);
      expect((await nights.night(noted('b'))).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('follows the first through a round, which sends it once', async () => {
    await withNights({ config: { ...once, failures: { rounds: 1 } } }, async (nights) => {
      const summary = await nights.night([
        line('Failing Co'),
        line('Good'),
        line('Failing Co'),
        line('Failing Co'),
      ]);
      expect(summary.bought).toEqual(['Failing Co', 'Failing Co', 'Good']);
      expect(summary.counts).toMatchObject({ read: 4, failed: 3, successful: 1 });
      await expectEnriched(nights);
    });
  });

  it('does not make equal records of blank ones', async () => {
    const config = { upload: { ...once.upload, skipBlank: false } };
    await withNights({ config }, async (nights) => {
      const blank = line('', '', '');
      expect((await nights.night([blank, line('One'), blank])).bought).toEqual(['', '', 'One']);
    });
  });
});
