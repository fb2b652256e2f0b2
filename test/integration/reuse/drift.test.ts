/** Drift: how answers that are bought again differ from the earlier ones for the same sent fields. */
import { existsSync, readdirSync } from 'node:fs';
import { appendFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { type Failpoint, nextTerms, publish, type RunOptions } from '../../../pipelines/index.js';
import { summaryText } from '../../../src/cli/texts/summary-text.js';
import { besidePath } from '../../../src/config/sections/output-names.js';
import type { Behaviour } from '../../fake-service/behaviour.js';
import { DAY, line, type Nights, withNights, withNote } from '../../helpers/jobs/nights.js';

const names = Array.from({ length: 40 }, (_, at) => `Shop ${at}`);
const lines = names.map((name) => line(name));
const noted = (note: string) => lines.map((one) => withNote(one, note));
const drifting = { output: { drift: true } };

/** What the service says of some names: a code, or null for a failure. The others have the code `same`. */
type Said = Readonly<Record<string, string | null>>;

/** A service whose answers a test can change. */
function changing(): { said: Said; readonly behaviour: Behaviour } {
  const service = {
    said: {} as Said,
    behaviour: {
      answer: ({ name }: Readonly<Record<string, string>>) => {
        const code = name! in service.said ? service.said[name!]! : 'same';
        return code === null
          ? ({ status: 'FAILED', added: { reason: 'none' } } as const)
          : ({ status: 'SUCCESSFUL', added: { code, label: `label of ${code}` } } as const);
      },
    },
  };
  return service;
}

/** The list of differences, and undefined without one. */
async function listed({ outputPath }: Nights, name = 'drift.csv'): Promise<string[][] | undefined> {
  const path = `${outputPath}.${name}`;
  return existsSync(path) ? parse(await readFile(path, 'utf8')) : undefined;
}

/** Stops a run at a failpoint, as a kill would. */
function killedAt(point: Failpoint): RunOptions {
  return {
    at: (here) => {
      if (here === point) throw new Error(`killed at ${point}`);
    },
  };
}

async function manifestDrift({ outputPath }: Nights): Promise<unknown> {
  return JSON.parse(await readFile(`${outputPath}.manifest.json`, 'utf8')).drift;
}

describe('drift', () => {
  it('counts the changed values of answers that a new epoch buys again, and lists them', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: drifting }, async (nights) => {
      expect((await nights.night(lines)).drift).toBeUndefined();
      service.said = { 'Shop 3': 'other', 'Shop 20': 'more, "quoted"' };
      const summary = await nights.night(noted('b'), { reuse: { epoch: '2', maxMiss: '100%' } });
      const drift = { compared: 40, changed: 2, columns: { code: 2, label: 2 } };
      expect(summary).toMatchObject({ drift, origins: { sent: { records: 40 } } });
      expect(await manifestDrift(nights)).toEqual(drift);
      expect(await listed(nights)).toEqual([
        ['record', 'column', 'before', 'now'],
        ['4', 'code', 'same', 'other'],
        ['4', 'label', 'label of same', 'label of other'],
        ['21', 'code', 'same', 'more, "quoted"'],
        ['21', 'label', 'label of same', 'label of more, "quoted"'],
      ]);
      expect((await stat(`${nights.outputPath}.drift.csv`)).mode & 0o777).toBe(0o640);
    });
  });

  it('counts a record that fails now, or failed before, as a changed status', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: drifting }, async (nights) => {
      service.said = { 'Shop 1': null, 'Shop 2': null };
      await nights.night(lines);
      service.said = { 'Shop 2': null, 'Shop 5': null };
      const { drift } = await nights.night(noted('b'), { reuse: { epoch: '2', maxMiss: '100%' } });
      expect(drift).toEqual({ compared: 40, changed: 2, columns: { status: 2 } });
      expect(await listed(nights)).toEqual([
        ['record', 'column', 'before', 'now'],
        ['2', 'status', 'FAILED', 'SUCCESSFUL'],
        ['6', 'status', 'SUCCESSFUL', 'FAILED'],
      ]);
    });
  });

  it('compares what has expired only: failures after failedAge, all after maxAge', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour }, async (nights) => {
      const all = { reuse: { maxMiss: '100%' } };
      service.said = { 'Shop 1': null };
      await nights.night(lines);
      service.said = { 'Shop 1': 'found', 'Shop 2': 'other' };
      nights.pass(8 * DAY);
      const second = await nights.night(noted('b'));
      expect(second).toMatchObject({ bought: ['Shop 1'], outdated: 1 });
      expect(second.drift).toEqual({ compared: 1, changed: 1, columns: { status: 1 } });
      nights.pass(90 * DAY);
      const third = await nights.night(noted('c'), all);
      expect(third).toMatchObject({ outdated: 40, drift: { compared: 40, changed: 1 } });
      expect(third.drift!.columns).toEqual({ code: 1, label: 1 });
    });
  });

  it('is not measured for new records, and not where nothing was compared', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: drifting }, async (nights) => {
      await nights.night(lines);
      const summary = await nights.night([...noted('b'), line('New One')]);
      expect(summary).toMatchObject({ bought: ['New One'], outdated: 0 });
      expect(summary.drift).toBeUndefined();
      expect(await manifestDrift(nights)).toBeUndefined();
      expect(await listed(nights)).toBeUndefined();
    });
  });

  it('removes the list of an earlier night that it would contradict', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: drifting }, async (nights) => {
      const second = { reuse: { epoch: '2', maxMiss: '100%' } };
      await nights.night(lines);
      await nights.night(noted('b'), second);
      expect(await listed(nights)).toEqual([['record', 'column', 'before', 'now']]);
      await nights.night(noted('c'), second);
      expect(await listed(nights)).toBeUndefined();
    });
  });

  it('is listed where its list was lost within the publication, with the machine on which it waited', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: drifting }, async (nights) => {
      const epoch = (name: string) => ({ reuse: { epoch: name, maxMiss: '100%' } });
      await nights.night(lines);
      await nights.night(noted('b'), epoch('2'));
      service.said = { 'Shop 3': 'other' };
      await nights.write(noted('c'));
      await nights.failure(epoch('3'), { ...nights.options, ...killedAt('after-rename-before-manifest') });
      const folder = dirname(nights.outputPath);
      const [waiting] = (await readdir(folder)).filter((name) => /drift\.csv\..*\.partial$/.test(name));
      await rm(join(folder, waiting!));
      const error = await nights.failure(epoch('3'), nights.options);
      expect(error).toMatchObject({ code: 'WORK_FILE_CHANGED', exitCode: 5 });
      expect(await nights.again(epoch('3'))).toMatchObject({ bought: [], drift: { changed: 1 } });
      expect(await listed(nights)).toEqual([
        ['record', 'column', 'before', 'now'],
        ['4', 'code', 'same', 'other'],
        ['4', 'label', 'label of same', 'label of other'],
      ]);
    });
  });

  it('is measured without results that are damaged when their rows are written and that the service has forgotten', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: drifting }, async (nights) => {
      const second = { reuse: { epoch: '2', maxMiss: '100%' } };
      const first = await nights.night(lines);
      service.said = { 'Shop 3': 'other' };
      await nights.write(noted('b'));
      const killed = killedAt('after-last-merge-before-publishing');
      await nights.failure(second, { ...nights.options, ...killed });
      const runs = join(nights.config().stateDir, 'runs');
      const run = join(runs, (await readdir(runs)).find((name) => name !== first.run)!);
      const part = (await readdir(run)).find((name) => name.startsWith('part-000002-'));
      await writeFile(join(run, part!), 'rubbish');
      for (const folio of nights.service.folios) folio.forgotten = true;
      const summary = await nights.again(second);
      expect(summary).toMatchObject({ counts: { successful: 40 }, drift: { compared: 30, changed: 1 } });
    });
  });

  it('counts a record that is sent for several equal ones once', async () => {
    const service = changing();
    const config = { upload: { duplicates: 'once' } };
    await withNights({ behaviour: service.behaviour, config }, async (nights) => {
      const doubled = [...lines, ...lines];
      await nights.night(doubled);
      service.said = { 'Shop 7': 'other' };
      const summary = await nights.night(
        doubled.map((one) => withNote(one, 'b')),
        {
          reuse: { epoch: '2', maxMiss: '100%' },
        },
      );
      expect(summary.bought).toHaveLength(40);
      expect(summary.drift).toEqual({ compared: 40, changed: 1, columns: { code: 1, label: 1 } });
    });
  });
});

describe('drift by key', () => {
  const keyed = { source: { key: ['id'] }, output: { delta: true } };
  const moved = (from: number, to: number) =>
    lines.map((one, at) => (at >= from && at < to ? line(names[at]!, 'Elsewhere') : one));

  it('counts the records that were sent with other values and have another answer than their key had', async () => {
    const service = changing();
    await withNights({ behaviour: service.behaviour, config: keyed }, async (nights) => {
      expect((await nights.night(lines)).delta).not.toHaveProperty('drift');
      service.said = { 'Shop 3': 'other', 'Shop 4': null, 'Shop 30': 'is not asked' };
      const summary = await nights.night([line('New One'), ...moved(3, 9).toReversed()]);
      expect(summary).toMatchObject({ outdated: 0, delta: { added: 1, changed: 6 } });
      const drift = { compared: 6, changed: 2, columns: { status: 1, code: 1, label: 1 } };
      expect(summary.delta).toMatchObject({ drift });
      expect(summary.drift).toBeUndefined();
      expect(JSON.parse(await readFile(`${nights.outputPath}.manifest.json`, 'utf8')).delta.drift).toEqual(
        drift,
      );
      expect(summaryText(summary, nextTerms(nights.config()))).toContain(
        '  drift     2 of 6 records that were sent have another answer than their key had before: ',
      );
      // Every answer of before is taken again.
      expect((await nights.night(moved(3, 9))).delta).not.toHaveProperty('drift');
    });
  });

  it.each(['out.csv', 'out.csv.gz', 'outs/'])(
    'lists them where %s was, with the answers of before',
    async (name) => {
      const service = changing();
      const config = { ...keyed, output: { ...keyed.output, drift: true } };
      await withNights({ behaviour: service.behaviour, config }, async (nights) => {
        const place = { output: { path: join(dirname(nights.outputPath), name) } };
        await nights.night(lines, place);
        service.said = { 'Shop 3': 'more, "quoted"', 'Shop 4': null };
        const { output } = await nights.night([line('New One'), ...moved(3, 9).toReversed()], place);
        const { path, data } = output!;
        const list = await readFile(besidePath(data ? `${dirname(data)}/` : path, 'key-drift.csv'), 'utf8');
        expect(parse(list)).toEqual([
          ['record', 'id', 'column', 'before', 'now'],
          ['38', 'Shop 3', 'code', 'same', 'more, "quoted"'],
          ['38', 'Shop 3', 'label', 'label of same', 'label of more, "quoted"'],
          ['37', 'Shop 4', 'status', 'SUCCESSFUL', 'FAILED'],
        ]);
      });
    },
  );

  it('lists them without the answers of before if the last output was edited', async () => {
    const service = changing();
    const config = { ...keyed, output: { ...keyed.output, drift: true } };
    await withNights({ behaviour: service.behaviour, config }, async (nights) => {
      await nights.night(lines);
      await appendFile(nights.outputPath, '\n');
      service.said = { 'Shop 3': 'other' };
      await nights.night(moved(3, 9));
      expect(await listed(nights, 'key-drift.csv')).toEqual([
        ['record', 'id', 'column', 'before', 'now'],
        ['4', 'Shop 3', 'code', '', 'other'],
        ['4', 'Shop 3', 'label', '', 'label of other'],
      ]);
      // Nothing is sent, so nothing is compared.
      await nights.night(moved(3, 9).toReversed());
      expect(await listed(nights, 'key-drift.csv')).toBeUndefined();
    });
  });

  it('has no list beside an output without a delta, though a killed process has left one', async () => {
    const service = changing();
    const config = { ...keyed, output: { ...keyed.output, drift: true } };
    await withNights({ behaviour: service.behaviour, config }, async (nights) => {
      await nights.night(lines);
      const { run } = await nights.night(moved(3, 9));
      const folder = dirname(nights.outputPath);
      let left = '';
      const at: RunOptions['at'] = (point) => {
        if (point !== 'after-delta-before-publishing') return;
        left = readdirSync(folder).find((name) => /key-drift\.csv\..*\.partial$/.test(name))!;
        throw new Error('killed');
      };
      await expect(publish(nights.config(), run, { ...nights.options, at })).rejects.toThrow('killed');
      // A killed process removes nothing.
      await writeFile(join(folder, left), 'record,id,column,before,now\n');
      await nights.again({ output: { delta: false, drift: true } });
      expect(await listed(nights, 'key-drift.csv')).toBeUndefined();
    });
  });

  it('counts all records where nothing is reused, and is not measured where a record was rejected', async () => {
    const service = changing();
    const config = { ...keyed, reuse: { maxAge: 0 }, source: { ...keyed.source, maxRejected: 1 } };
    await withNights({ behaviour: service.behaviour, config }, async (nights) => {
      await nights.night(lines);
      service.said = { 'Shop 3': 'other' };
      const { delta } = await nights.night(noted('b'));
      expect(delta).toMatchObject({ drift: { compared: 40, changed: 1, columns: { code: 1, label: 1 } } });
      const bad = { record: {}, raw: 'too,few' };
      expect((await nights.night([...noted('c'), bad])).delta).not.toHaveProperty('drift');
    });
  });
});
