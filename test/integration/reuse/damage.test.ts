/** What is kept for reuse is damaged or lost: an error that names the file and what to do, before anything is paid. */
import { cp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type FoliopipeError,
  forgetReuse,
  hintOf,
  InterruptedError,
  publish,
  type RunOptions,
  retry,
  showReuse,
} from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { expectEnriched, type JobSetup } from '../../helpers/jobs/fake-service-job.js';
import { stopAt } from '../../helpers/jobs/interrupted-job.js';
import {
  changedLines,
  line,
  type Nights,
  sampleLines,
  unknownNames,
  withNights,
  withNote,
} from '../../helpers/jobs/nights.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';

const A = sampleLines(60);
const B = changedLines(A, 3);

/**
 * Plays the first night once for the tests of a block.
 * @returns a function that puts the job's folder back to the end of that night.
 */
function useFirstNight(setup: JobSetup): () => Promise<{ readonly nights: Nights; readonly run: string }> {
  let first: { readonly nights: Nights; readonly run: string };
  let image: string;
  let end: () => void;
  let ended: Promise<void>;
  beforeAll(
    () =>
      new Promise<void>((resolve, reject) => {
        ended = withNights(setup, async (nights) => {
          first = { nights, ...(await nights.night(A)) };
          image = `${nights.folder}.image`;
          await cp(nights.folder, image, { recursive: true, preserveTimestamps: true });
          const isOver = new Promise<void>((over) => {
            end = over;
          });
          resolve();
          await isOver;
        });
        ended.catch(reject);
      }),
  );
  afterAll(async () => {
    end();
    await ended;
    await rm(image, { recursive: true });
  });
  return async () => {
    await rm(first.nights.folder, { recursive: true });
    await cp(image, first.nights.folder, { recursive: true, preserveTimestamps: true });
    return first;
  };
}

/** The file in a folder of the store that belongs to a run: to the only one that has a file, or to a later one. */
async function fileIn(nights: Nights, folder: string, ...earlier: readonly string[]): Promise<string> {
  const path = join(nights.config().stateDir, 'reuse', folder);
  const names = await readdir(path);
  const [name, ...others] = names.filter((one) => !earlier.some((run) => one.startsWith(run)));
  expect(others).toEqual([]);
  return join(path, name!);
}

/** Changes the bytes of a file from one share of its length to another. */
async function flip(path: string, from: number, to = from): Promise<void> {
  const bytes = await readFile(path);
  const at = (share: number) => Math.floor(share * (bytes.length - 1));
  for (let i = at(from); i <= at(to); i++) bytes[i]! ^= 4;
  await writeFile(path, bytes);
}

const ways: readonly (readonly [string, (path: string) => Promise<void>])[] = [
  ['removed', (path) => rm(path)],
  ['empty', (path) => truncate(path)],
  ['shortened', async (path) => truncate(path, (await readFile(path)).length - 1)],
  ['changed at its end', (path) => flip(path, 1)],
  ['changed before its end', (path) => flip(path, 0.95)],
  // Many blocks: one that no record of tonight needs is not read.
  ['changed in its middle', (path) => flip(path, 0.2, 0.6)],
  ['changed at its beginning', (path) => flip(path, 0)],
];

/** Results do not hold all that was sent, so that no record can be found again by them. */
const withoutAddress: Behaviour = {
  style: () => ({ columns: (all) => all.filter((column) => column !== 'address') }),
};

describe('a segment whose source has changed', () => {
  const firstNight = useFirstNight({ behaviour: withoutAddress, config: { reuse: { maxMiss: '100%' } } });

  it.each(ways)('%s ends the night before it pays if results lack a sent column', async (_, damage) => {
    const { nights } = await firstNight();
    await damage(await fileIn(nights, 'segments'));
    const { error, bought } = await nights.badNight(B);
    expect(bought).toEqual([]);
    expect(error).toMatchObject({
      exitCode: 2,
      code: expect.stringMatching(/^REUSE_SEGMENT_(LOST|DAMAGED)$/),
      message: expect.stringContaining('.seg'),
    });
    expect(hintOf(error as FoliopipeError)).toContain('foliopipe reuse');
    expect(await readdir(join(nights.config().stateDir, 'reuse/choices'))).toHaveLength(1);
    // It goes on when the user decides to buy.
    expect((await nights.night(B, {}, { reuse: false })).bought).toHaveLength(B.length);
  });
});

it('a segment whose source has changed is not built again from results in other letters', async () => {
  const behaviour: Behaviour = {
    results: (results) =>
      results.map((one) => ({ ...one, sent: { ...one.sent, name: one.sent.name!.toUpperCase() } })),
  };
  await withNights({ behaviour, config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
    await nights.night(A);
    await rm(await fileIn(nights, 'segments'));
    const { error, bought } = await nights.badNight(B);
    expect({ error, bought }).toMatchObject({ error: { code: 'REUSE_SEGMENT_LOST' }, bought: [] });
  });
});

describe('a segment whose source has changed, and whose results hold what was sent', () => {
  it.each([
    ['in the style of the upload', {}],
    ['with quotes around every field and CRLF', { quoted: true, newline: '\r\n' as const }],
  ])('is built again from its results, %s', async (_, style) => {
    await withNights({ behaviour: { style: () => style } }, async (nights) => {
      await nights.night(A);
      await rm(await fileIn(nights, 'segments'));
      expect((await nights.night(B)).bought).toEqual(unknownNames(B, A));
      await expectEnriched(nights);
      // The second one is of a run that took most answers from the first.
      const [, second] = (await readdir(join(nights.config().stateDir, 'reuse/segments'))).sort();
      await rm(join(nights.config().stateDir, 'reuse/segments', second!));
      expect((await nights.night(B.map((one) => withNote(one, 'c')))).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('ends the night before it pays if one of its results is lost too', async () => {
    await withNights({ config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
      const { run } = await nights.night(A);
      await rm(await fileIn(nights, 'segments'));
      const folder = join(nights.config().stateDir, 'runs', run);
      const part = (await readdir(folder)).find((name) => name.startsWith('part-'));
      await rm(join(folder, part!));
      const { error, bought } = await nights.badNight(B);
      expect({ error, bought }).toMatchObject({
        error: { code: 'REUSE_SEGMENT_LOST', exitCode: 2 },
        bought: [],
      });
      expect(hintOf(error as FoliopipeError)).toContain('foliopipe reuse');
    });
  });

  it('is built again with the answers of rounds', async () => {
    // The second chunk is that of the round.
    const behaviour: Behaviour = {
      results: (results, { chunk }) =>
        results.map(({ sent }) => {
          const fails = chunk === 1 && sent.name!.startsWith('N');
          return fails
            ? { sent, status: 'FAILED', added: { reason: 'later' } }
            : { sent, status: 'SUCCESSFUL', added: { code: `${chunk}` } };
        }),
    };
    const lines = ['N1', 'A', 'N2', 'B', 'C'].map((name) => line(name));
    const failures = { rounds: 1, tolerate: '100%' };
    await withNights({ behaviour, config: { failures } }, async (nights) => {
      expect(await nights.night(lines)).toMatchObject({ counts: { successful: 5 } });
      await rm(await fileIn(nights, 'segments'));
      expect((await nights.night(lines.map((one) => withNote(one, 'b')))).bought).toEqual([]);
      const rows = await nights.rows();
      expect(rows.map(({ prediction_code }) => prediction_code)).toEqual(['2', '1', '2', '1', '1']);
    });
  });
});

it('a result of a round that is lost once its rows are written leaves no earlier failure in its place', async () => {
  let isLater = false;
  const behaviour: Behaviour = {
    results: (results, { chunk }) =>
      results.map(({ sent }) =>
        !isLater && chunk < 4 && sent.name!.startsWith('N')
          ? { sent, status: 'FAILED', added: { reason: 'later' } }
          : { sent, status: 'SUCCESSFUL', added: { code: `${chunk}` } },
      ),
  };
  const lines = ['N1', 'A', 'N2', 'B', 'C'].map((name) => line(name));
  const config = {
    chunks: { maxRecords: 2 },
    failures: { rounds: 1, tolerate: '100%' },
    reuse: { maxMiss: '100%' },
  };
  await withNights({ behaviour, config }, async (nights) => {
    await nights.write(lines);
    const at: RunOptions['at'] = throwAt('after-last-merge-before-publishing');
    expect(await nights.failure({}, { ...nights.options, at })).toMatchObject({ message: 'killed' });
    const runs = join(nights.config().stateDir, 'runs');
    const [run] = await readdir(runs);
    const part = (await readdir(join(runs, run!))).find((name) => name.startsWith('part-000004-'));
    await flip(join(runs, run!, part!), 0.5);
    for (const folio of nights.service.folios) folio.forgotten = true;
    expect(await nights.again()).toMatchObject({ bought: [], counts: { successful: 5 } });
    isLater = true;
    const { bought, counts } = await nights.night(lines.map((one) => withNote(one, 'b')));
    expect({ bought, counts }).toMatchObject({ bought: ['A', 'B', 'N1', 'N2'], counts: { successful: 5 } });
  });
});

it('a result that is lost once its rows are written again holds up no publication', async () => {
  const behaviour: Behaviour = {
    results: (results, { chunk }) =>
      results.map(({ sent }) =>
        chunk === 1 && sent.name === 'N1'
          ? { sent, status: 'FAILED', added: { reason: 'later' } }
          : { sent, status: 'SUCCESSFUL', added: { code: `${chunk}` } },
      ),
  };
  const config = { failures: { tolerate: '100%' } };
  await withNights({ behaviour, config }, async (nights) => {
    const { run } = await nights.night(['N1', 'A', 'B'].map((name) => line(name)));
    const at: RunOptions['at'] = throwAt('after-last-merge-before-publishing');
    const options = { ...nights.options, by: 'upload' as const, at };
    await expect(retry(nights.config(), run, options)).rejects.toThrow('killed');
    const folder = join(nights.config().stateDir, 'runs', run);
    const part = (await readdir(folder)).find((name) => name.startsWith('part-000001-successful'));
    await flip(join(folder, part!), 0.5);
    for (const folio of nights.service.folios) folio.forgotten = true;
    expect(await nights.again()).toMatchObject({ run, bought: [], counts: { successful: 3 } });
    expect(await nights.again()).toMatchObject({ run, bought: [], state: 'done' });
  });
});

describe('a segment whose source is unchanged', () => {
  const firstNight = useFirstNight({});

  it.each(ways)('%s is built again from the parts of its run', async (_, damage) => {
    const { nights } = await firstNight();
    await damage(await fileIn(nights, 'segments'));
    expect((await nights.again({}, { fresh: true })).bought).toEqual([]);
    await expectEnriched(nights);
    expect((await nights.night(A.map((one) => withNote(one, 'b')))).bought).toEqual([]);
  });
});

describe('a segment from which answers were given up', () => {
  const key = { source: { key: ['Business'] } };
  const lines = ['One', 'Two', 'Three'].map((name) => line(name));
  const noted = lines.map((one) => withNote(one, 'b'));
  const forget = (nights: Nights, what: Parameters<typeof forgetReuse>[1]['what']) =>
    forgetReuse(nights.config(key), { ...nights.options, what });

  it('is not built again with them: a night ends before it pays', async () => {
    await withNights({ config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
      const { run } = await nights.night(lines);
      await forget(nights, { keys: ['Two'] });
      await rm(await fileIn(nights, 'segments'));
      const { error, bought } = await nights.badNight(noted);
      expect({ error, bought }).toMatchObject({ error: { code: 'REUSE_SEGMENT_LOST' }, bought: [] });
      // The way out that the hint names.
      await forget(nights, { run });
      expect((await nights.again()).bought).toEqual(['One', 'Three', 'Two']);
    });
  });

  it('and that holds no other is not needed', async () => {
    await withNights({ config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
      const { run } = await nights.night(lines);
      await forget(nights, { run });
      await rm(await fileIn(nights, 'segments'));
      const [shown] = (await showReuse(nights.config())).segments;
      expect(shown).toMatchObject({ unused: 'empty' });
      expect((await nights.night(noted)).bought).toEqual(['One', 'Three', 'Two']);
    });
  });

  it('and that was built again before, stays without them when its run is published again', async () => {
    await withNights({ config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
      const { run } = await nights.night(lines);
      await rm(await fileIn(nights, 'segments'));
      expect((await nights.again({}, { fresh: true })).bought).toEqual([]);
      await forget(nights, { keys: ['Two'] });
      await publish(nights.config(), run, nights.options);
      expect((await nights.night(noted)).bought).toEqual(['Two']);
    });
  });
});

describe('the secret', () => {
  const firstNight = useFirstNight({ config: { reuse: { maxMiss: '100%' } } });

  it.each([
    ['removed', (path: string) => rm(path)],
    ['empty', (path: string) => truncate(path)],
    ['another one', (path: string) => flip(path, 0.5)],
  ])('%s ends the night before it pays', async (_, damage) => {
    const { nights } = await firstNight();
    await damage(join(nights.config().stateDir, 'reuse', 'secret'));
    const { error, bought } = await nights.badNight(B);
    expect(bought).toEqual([]);
    expect(error).toMatchObject({
      exitCode: 2,
      code: 'REUSE_SECRET_LOST',
      message: expect.stringContaining('secret'),
    });
    expect(hintOf(error as FoliopipeError)).toContain('foliopipe reuse forget');
  });
});

it.each([
  ['lost', (path: string) => rm(path)],
  ['cut short', (path: string) => truncate(path, 16)],
])('a secret that is %s after a retry stops no night once all answers are given up', async (_, damage) => {
  await withNights({ config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
    const { run } = await nights.night([line('Good'), line('Failing Co')]);
    await retry(nights.config(), run, nights.options);
    await damage(join(nights.config().stateDir, 'reuse', 'secret'));
    const next = [line('Good', '1 Main St', 'MT', 'b'), line('Failing Co', '1 Main St', 'MT', 'b')];
    expect((await nights.badNight(next)).error).toMatchObject({ code: 'REUSE_SECRET_LOST' });
    await forgetReuse(nights.config(), { ...nights.options, what: { all: true } });
    await nights.again();
    await expectEnriched(nights);
  });
});

describe('the choice of an open night', () => {
  const firstNight = useFirstNight({});

  it.each(ways)('%s ends it before it pays', async (_, damage) => {
    const { nights, run } = await firstNight();
    await nights.write(B);
    expect(await nights.failure({}, stopAt('after-run-before-chunk', 1))).toBeInstanceOf(InterruptedError);
    const since = nights.service.folios.length;
    await damage(await fileIn(nights, 'choices', run));
    const error = await nights.failure();
    expect(error).toMatchObject({
      exitCode: 2,
      code: expect.stringMatching(/^REUSE_CHOICE_(LOST|DAMAGED)$/),
    });
    expect(hintOf(error as FoliopipeError)).toMatch(
      /^restore .*; without it: foliopipe run --new, which buys again what this run has sent/,
    );
    expect(nights.service.folios.length).toBe(since);
    // The way out that the hint names.
    expect((await nights.again({}, { fresh: true })).bought).toEqual(unknownNames(B, A));
    await expectEnriched(nights);
  });

  it.each([
    ['once all answers are here: the new run takes them', 'after-last-merge-before-publishing', true],
    ['while its output is put in place: that goes on', 'after-publishing-before-rename', false],
  ] as const)('is lost %s, and nothing is paid again', async (_, point, fresh) => {
    await withNights({}, async (nights) => {
      const killed = new Error('killed');
      const at = (here: string) => {
        if (here === point) throw killed;
      };
      expect((await nights.badNight(A, {}, { at })).error).toBe(killed);
      await rm(await fileIn(nights, 'choices'));
      if (fresh) expect(await nights.failure()).toMatchObject({ code: 'REUSE_CHOICE_LOST' });
      expect(await nights.again({}, { fresh })).toMatchObject({ state: 'done', bought: [] });
      await expectEnriched(nights);
    });
  });

  it('of a night that is published is not needed by the next one', async () => {
    await withNights({}, async (nights) => {
      await nights.night(A);
      await nights.night(B);
      for (const name of await readdir(join(nights.config().stateDir, 'reuse/choices'))) {
        await rm(join(nights.config().stateDir, 'reuse/choices', name));
      }
      const next = B.map((one) => withNote(one, 'c'));
      expect((await nights.night(next)).bought).toEqual([]);
      await expectEnriched(nights);
    });
  });

  it('of a night that is published is needed to publish it again', async () => {
    await withNights({}, async (nights) => {
      const first = await nights.night(A);
      const { run } = await nights.night(B);
      await rm(await fileIn(nights, 'choices', first.run));
      await rm(nights.outputPath);
      const error = await publish(nights.config(), run, nights.options).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ exitCode: 2, code: 'REUSE_CHOICE_LOST' });
    });
  });
});

describe('a part that is damaged once its rows are in the output', () => {
  /** A night that ends before its answers are kept, with the given harm to a part. Then it is finished. */
  const finished = async (nights: Nights, harm: (part: string) => Promise<void>) => {
    const killed = new Error('killed');
    const at = (point: string) => {
      if (point === 'after-manifest-before-marker') throw killed;
    };
    expect((await nights.badNight(A, {}, { at })).error).toBe(killed);
    const folder = join(nights.config().stateDir, 'runs');
    const [run] = await readdir(folder);
    const [part] = (await readdir(join(folder, run!))).filter((name) => name.startsWith('part-')).sort();
    await harm(join(folder, run!, part!));
    expect(await nights.again()).toMatchObject({ state: 'done', bought: [] });
    await expectEnriched(nights);
  };
  const nextNight = async (nights: Nights) =>
    (await nights.night(A.map((one) => withNote(one, 'next')))).bought;

  it('is fetched again, and its answers are kept', async () => {
    await withNights({}, async (nights) => {
      await finished(nights, (part) => writeFile(part, 'rubbish'));
      expect(await nextNight(nights)).toEqual([]);
    });
  });

  it('and that the service no longer has is left out, and its records are bought again', async () => {
    await withNights({ config: { reuse: { maxMiss: '100%' } } }, async (nights) => {
      await finished(nights, async (part) => {
        await rm(part);
        for (const folio of nights.service.folios) nights.service.forget(folio);
      });
      const bought = await nextNight(nights);
      expect(bought.length).toBeGreaterThan(0);
      expect(bought.length).toBeLessThan(A.length);
    });
  });
});
