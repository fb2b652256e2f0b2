/** `failures.onExceeded: withhold`: a bad night leaves the output of the good one in place, and pays for nothing twice. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  adopt,
  backupState,
  collect,
  openCheckpointReader,
  prune,
  publish,
  recover,
  restoreState,
  retry,
  submit,
} from '../../../pipelines/index.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { DAY, type Line, line, type Nights, withNights } from '../../helpers/jobs/nights.js';
import { loseCheckpoint } from '../../helpers/state/killed-state.js';

const config = { failures: { tolerate: '5%', onExceeded: 'withhold' } };
const good = Array.from({ length: 40 }, (_, at) => line(`Steady ${at + 1}`));
/** The last chunk fails, so that the first ones do not stop the uploads. */
const shaky = Array.from({ length: 6 }, (_, at) => line(`Shaky ${at + 1}`));
const bad = [...good.slice(0, 34).map((one) => ({ ...one })), ...shaky];
const reason = '6 of 40 records failed (15%), and failures.tolerate is 5%';

/** The service fails these names. */
const failing = (name: RegExp): Behaviour => ({
  answer: ({ name: sent, ...rest }) =>
    name.test(sent ?? '')
      ? { status: 'FAILED', added: { reason: 'down' } }
      : { status: 'SUCCESSFUL', added: { code: `c-${sent}-${rest.state}` } },
});

/** Every file beside the output with its bytes. */
async function filesOf(nights: Nights): Promise<Readonly<Record<string, string>>> {
  const folder = dirname(nights.outputPath);
  const names = (await readdir(folder)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')])),
  );
}

interface BadNight {
  readonly run: string;
  /** The files of the good night. */
  readonly before: Readonly<Record<string, string>>;
  readonly goodRun: string;
}

/** Runs `use` after a good night and one that is withheld. The service fails nothing any more. */
function afterBadNight(
  use: (nights: Nights, night: BadNight) => Promise<void>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  return withNights({ config: { ...config, ...more } }, async (nights) => {
    nights.service.behaviour = failing(/Shaky/);
    const first = await nights.night(good);
    expect(first).toMatchObject({ exitCode: 0, published: true, publication: 1 });
    const before = await filesOf(nights);
    const second = await nights.night(bad);
    expect(second).toMatchObject({ state: 'withheld', exitCode: 9 });
    expect(await filesOf(nights)).toEqual(before);
    nights.service.behaviour = failing(/Never/);
    await use(nights, { run: second.run, before, goodRun: first.run });
  });
}

const statesOf = async (nights: Nights) => {
  const reader = (await openCheckpointReader(nights.config().stateDir))!;
  try {
    return (await reader.runs()).map(({ state }) => state);
  } finally {
    await reader.close();
  }
};

const rowsOf = async (nights: Nights, status: string) =>
  (await nights.rows()).filter((row) => row.prediction_status === status).map(({ Business }) => Business);

describe('a night with more failed records than are tolerated', () => {
  it('leaves every file of the good night as it is, and says why and what stays', async () => {
    await withNights({ config }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      const first = await nights.night(good);
      const before = await filesOf(nights);
      expect(Object.keys(before)).toEqual([
        'enriched.csv',
        'enriched.csv._SUCCESS',
        'enriched.csv.manifest.json',
      ]);
      const said: string[] = [];
      const warn = (_: object, text: string) => void said.push(text);
      const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
      const second = await nights.night(bad, {}, { logger });
      expect(second).toMatchObject({
        state: 'withheld',
        exitCode: 9,
        published: false,
        publication: null,
        output: null,
        marker: null,
        counts: { read: 40, successful: 34, failed: 6, unprocessed: 0, rejected: 0 },
        withheld: {
          tolerate: 0.05,
          path: nights.outputPath,
          inPlace: { publication: 1, run: first.run },
        },
      });
      expect(second.run).not.toBe(first.run);
      expect(said).toContain(`run ${second.run} is withheld: ${reason}; nothing is published`);
      expect(await filesOf(nights)).toEqual(before);
    });
  });

  it('is withheld also where nothing was published before', async () => {
    await withNights({ config }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      const first = await nights.night(bad);
      expect(first).toMatchObject({ state: 'withheld', exitCode: 9, withheld: { inPlace: null } });
      expect(await filesOf(nights)).toEqual({});
    });
  });

  it('is published where onExceeded is not set, as ever', async () => {
    await withNights({ config: { failures: { tolerate: '5%' } } }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      await nights.night(good);
      expect(await nights.night(bad)).toMatchObject({ state: 'done', exitCode: 3, withheld: null });
      expect(Object.keys(await filesOf(nights))).toContain('enriched.csv._PARTIAL');
    });
  });

  it('keeps the rejects of the good night too', async () => {
    const rejecting = { ...config, source: { path: 'source.csv', maxRejected: '100%' } };
    await withNights({ config: rejecting }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      const broken: Line = { record: {}, raw: 'short,row' };
      await nights.night([...good, broken]);
      const before = await filesOf(nights);
      expect(Object.keys(before)).toContain('enriched.csv.rejects.csv');
      expect(await nights.night([...bad, { record: {}, raw: 'other' }])).toMatchObject({ exitCode: 9 });
      expect(await filesOf(nights)).toEqual(before);
    });
  });
});

describe('a bad night that is submitted', () => {
  it('is withheld by collect, which says so each time', () =>
    withNights({ config }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      await nights.night(good);
      const before = await filesOf(nights);
      await nights.write(bad);
      const { run } = await submit(nights.config(), nights.options);
      for (const wait of [true, false]) {
        const summary = await collect(nights.config(), { ...nights.options, wait });
        expect(summary).toMatchObject({ run, state: 'withheld', exitCode: 9, published: false });
      }
      expect(await filesOf(nights)).toEqual(before);
    }));
});

describe('the same command again', () => {
  it('stays withheld, pays nothing and changes nothing', () =>
    afterBadNight(async (nights, { run, before }) => {
      for (const again of [nights.again, nights.again]) {
        const summary = await again();
        expect(summary).toMatchObject({ run, found: 'done', state: 'withheld', exitCode: 9, bought: [] });
      }
      expect(await collect(nights.config(), nights.options)).toMatchObject({ run, exitCode: 9 });
      expect(await submit(nights.config(), nights.options)).toMatchObject({ run, exitCode: 9 });
      expect(await filesOf(nights)).toEqual(before);
      expect(await statesOf(nights)).toEqual(['withheld', 'done']);
    }));

  it.each([
    ['a raised tolerance', { failures: { tolerate: '15%' } }, 0, '_SUCCESS', 'failures.tolerate is 15%'],
    [
      'onExceeded: publish',
      { failures: { onExceeded: 'publish' } },
      3,
      '_PARTIAL',
      'failures.onExceeded is publish',
    ],
  ])('with %s publishes what was bought', (_, changes, exitCode, marker, released) =>
    afterBadNight(async (nights, { run }) => {
      const summary = await nights.again(changes);
      expect(summary).toMatchObject({ run, state: 'done', exitCode, publication: 2, bought: [], released });
      expect(Object.keys(await filesOf(nights))).toEqual(
        ['enriched.csv', `enriched.csv.${marker}`, 'enriched.csv.manifest.json'].sort(),
      );
      expect(await rowsOf(nights, 'FAILED')).toEqual(shaky.map(({ record }) => record.Business));
      // It is done now: another config later does not take it back.
      expect(await nights.again()).toMatchObject({
        run,
        state: 'done',
        exitCode,
        publication: 2,
        released: null,
      });
      await rm(nights.outputPath);
      expect(await nights.again()).toMatchObject({ run, state: 'done', exitCode: 3, publication: 3 });
    }),
  );

  it('on another output path stays withheld too', () =>
    afterBadNight(async (nights, { run, before }) => {
      expect(await nights.again({ output: { path: 'out/other.csv' } })).toMatchObject({ run, exitCode: 9 });
      expect(await filesOf(nights)).toEqual(before);
    }));
});

describe('publish of a withheld run', () => {
  it('releases it with exit 3 and asks the service nothing', () =>
    afterBadNight(async (nights, { run }) => {
      const requests = nights.service.seen.length;
      const summary = await publish(nights.config(), run, nights.options);
      expect(summary).toMatchObject({ run, state: 'done', exitCode: 3, published: true, publication: 2 });
      expect(nights.service.seen).toHaveLength(requests);
      expect(await rowsOf(nights, 'FAILED')).toHaveLength(6);
      expect(await nights.again()).toMatchObject({ run, found: 'done', exitCode: 3, bought: [] });
    }));

  it('fetches parts that are lost, such as those that a backup without results leaves out', () =>
    afterBadNight(async (nights, { run }) => {
      // A finished folio keeps its answers.
      nights.service.behaviour = failing(/Shaky/);
      const config = nights.config();
      const folder = join(nights.folder, 'backup');
      await backupState(config, { folder });
      await rm(config.stateDir, { recursive: true });
      await restoreState(config, { folder });
      expect(await nights.again({}, { yes: true })).toMatchObject({ run, exitCode: 9, bought: [] });
      const uploads = nights.service.count('upload');
      const summary = await publish(config, run, nights.options);
      expect(summary).toMatchObject({ run, state: 'done', exitCode: 3, counts: { failed: 6 } });
      expect(await rowsOf(nights, 'SUCCESSFUL')).toHaveLength(34);
      expect(nights.service.count('upload')).toBe(uploads);
    }));

  it('after a newer night has published, puts the older output over it, as for every older run', () =>
    afterBadNight(async (nights, { run }) => {
      const newer = await nights.night(good.slice(0, 30));
      expect(newer).toMatchObject({ exitCode: 0, publication: 2 });
      await nights.write(bad);
      expect(await publish(nights.config(), run, nights.options)).toMatchObject({
        exitCode: 3,
        publication: 3,
      });
      expect(await nights.rows()).toHaveLength(40);
    }));

  it('needs the unchanged source', () =>
    afterBadNight(async (nights, { run, before }) => {
      await nights.write(good.slice(1));
      await expect(publish(nights.config(), run, nights.options)).rejects.toMatchObject({
        exitCode: 4,
        code: 'SOURCE_CHANGED',
        message: expect.stringContaining(`run ${run} is withheld, and its source`),
      });
      expect(await filesOf(nights)).toEqual(before);
    }));
});

describe('retry of a withheld run', () => {
  it('publishes it once it is within the tolerance', () =>
    afterBadNight(async (nights, { run }) => {
      const sent = nights.service.folios.length;
      const summary = await retry(nights.config(), run, nights.options);
      expect(summary).toMatchObject({ run, state: 'done', exitCode: 0, publication: 2 });
      const names = nights.service.folios
        .slice(sent)
        .flatMap(({ records }) => records.map(({ name }) => name));
      expect(names.sort()).toEqual(shaky.map(({ record }) => record.Business));
      expect(Object.keys(await filesOf(nights))).toContain('enriched.csv._SUCCESS');
    }));

  it('leaves it withheld with what is better now, while too many fail', () =>
    afterBadNight(async (nights, { run, before }) => {
      nights.service.behaviour = failing(/Shaky [1-3]/);
      const summary = await retry(nights.config(), run, nights.options);
      expect(summary).toMatchObject({ run, state: 'withheld', exitCode: 9, counts: { failed: 3 } });
      expect(await filesOf(nights)).toEqual(before);
      const released = await nights.again({ failures: { tolerate: '7.5%' } });
      expect(released).toMatchObject({ exitCode: 0, counts: { failed: 3 }, bought: [] });
    }));

  it('of a published one replaces its own output, even if too many still fail', () =>
    withNights({ config }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      const { run } = await nights.night(bad, { failures: { onExceeded: 'publish' } });
      nights.service.behaviour = failing(/Shaky [1-3]/);
      const summary = await retry(nights.config(), run, nights.options);
      expect(summary).toMatchObject({ state: 'done', exitCode: 3, publication: 2, counts: { failed: 3 } });
    }));
});

describe('the night after a withheld one', () => {
  const third = [...bad.slice(1), line('Steady new')];

  it('begins a new run, takes what was answered and asks again for what failed', () =>
    afterBadNight(async (nights, { run }) => {
      nights.pass(DAY);
      const summary = await nights.night(third);
      expect(summary).toMatchObject({ exitCode: 0, publication: 2, found: 'new' });
      expect(summary.run).not.toBe(run);
      expect(summary.bought).toEqual([...shaky.map(({ record }) => record.Business!), 'Steady new'].sort());
      expect(await rowsOf(nights, 'SUCCESSFUL')).toHaveLength(40);
      expect(await statesOf(nights)).toEqual(['done', 'withheld', 'done']);
    }));

  it('takes its failures too once it is released', () =>
    afterBadNight(async (nights, { run }) => {
      await publish(nights.config(), run, nights.options);
      const summary = await nights.night(third);
      expect(summary).toMatchObject({ origins: { reused: { failed: 6 } }, bought: ['Steady new'] });
      expect(summary).toMatchObject({ state: 'withheld', exitCode: 9 });
    }));

  it('takes the answers of one that kept none itself, because reuse was off', () =>
    withNights({ config }, async (nights) => {
      nights.service.behaviour = failing(/Shaky/);
      expect(await nights.night(bad, { reuse: { maxAge: 0 } })).toMatchObject({ exitCode: 9 });
      expect(await nights.again()).toMatchObject({ exitCode: 9, bought: [] });
      expect((await nights.night(good)).bought).toEqual(good.slice(34).map(({ record }) => record.Business));
    }));

  it('may be the same source, sent afresh', () =>
    afterBadNight(async (nights, { run }) => {
      const summary = await nights.again({}, { fresh: true });
      expect(summary).toMatchObject({ exitCode: 0, publication: 2 });
      expect(summary.run).not.toBe(run);
      expect(await statesOf(nights)).toEqual(['done', 'withheld', 'done']);
    }));

  it('has the delta since the last publication', () =>
    afterBadNight(
      async (nights) => {
        expect(await nights.night(third)).toMatchObject({ base: { publication: 1 }, delta: { added: 7 } });
      },
      { source: { path: 'source.csv', key: ['id'] }, output: { path: 'out/enriched.csv', delta: true } },
    ));
});

describe('a withheld run', () => {
  it('with a lost folio is published when the service knows that again', async () => {
    await withNights({ config: { failures: { tolerate: 1, onExceeded: 'withhold' } } }, async (nights) => {
      nights.service.behaviour = failing(/Never/);
      await nights.night(good);
      const before = await filesOf(nights);
      nights.service.behaviour = {
        ...failing(/Never/),
        tracking: (reply, folio) => {
          if (folio.records.some(({ name }) => name === 'Shaky 1')) nights.service.forget(folio);
          return reply;
        },
      };
      // Any UNPROCESSED record withholds: the output would not be complete.
      const summary = await nights.night(bad);
      expect(summary).toMatchObject({
        state: 'withheld',
        exitCode: 9,
        counts: { failed: 0, unprocessed: 6 },
      });
      expect(await filesOf(nights)).toEqual(before);
      expect(await nights.again()).toMatchObject({ state: 'withheld', exitCode: 9 });
      nights.service.behaviour = failing(/Never/);
      for (const folio of nights.service.folios) folio.forgotten = false;
      expect(await nights.again()).toMatchObject({
        run: summary.run,
        exitCode: 0,
        publication: 2,
        bought: [],
      });
    });
  });

  it('refuses a partial publication before anything is sent', () =>
    withNights({ config }, async (nights) => {
      const failed = await nights.badNight(good, {}, { publishPartial: true });
      expect(failed).toMatchObject({ error: { exitCode: 2, code: 'PARTIAL_WITHHELD' }, bought: [] });
      const publishing = { failures: { onExceeded: 'publish' } };
      expect(await nights.again(publishing, { publishPartial: true })).toMatchObject({ exitCode: 0 });
    }));

  it('is kept as long as a done one, and then needs no results to stay withheld', () =>
    afterBadNight(async (nights, { run, before }) => {
      expect((await prune(nights.config(), { ...nights.options, olderThan: DAY })).runs).toEqual([]);
      nights.pass(2 * DAY);
      const { runs } = await prune(nights.config(), { ...nights.options, olderThan: DAY });
      expect(runs.map((one) => [one.run, one.state])).toContainEqual([run, 'withheld']);
      expect(await nights.again()).toMatchObject({ run, exitCode: 9, counts: { failed: 6 }, bought: [] });
      await expect(nights.again({ failures: { tolerate: 1 } })).rejects.toMatchObject({ code: 'RUN_PRUNED' });
      expect(await filesOf(nights)).toEqual(before);
    }));

  it('is known to a rebuilt checkpoint, with its answers', () =>
    afterBadNight(async (nights, { run, before }) => {
      await loseCheckpoint(nights);
      await recover(nights.config());
      expect(await nights.again()).toMatchObject({ run, state: 'withheld', exitCode: 9, bought: [] });
      expect(await filesOf(nights)).toEqual(before);
      expect((await nights.night([...bad, line('Steady new')])).bought).toHaveLength(7);
    }));

  it('cannot be adopted for, where nothing is in doubt', () =>
    afterBadNight(async (nights, { run }) => {
      const what = { run, chunk: 1, folio: 'F' };
      await expect(adopt(nights.config(), what, nights.options)).rejects.toMatchObject({
        code: 'ADOPT_CHUNK_STATE',
      });
      expect(await statesOf(nights)).toEqual(['withheld', 'done']);
    }));

  it('leaves no file of its own behind', () =>
    afterBadNight(async (nights, { before }) => {
      await writeFile(join(nights.folder, 'note'), '');
      const state = await readdir(nights.config().stateDir, { recursive: true });
      expect(state.filter((name) => /\.(tmp|partial)$|\/chunk-/.test(name))).toEqual([]);
      expect(await filesOf(nights)).toEqual(before);
    }));
});
