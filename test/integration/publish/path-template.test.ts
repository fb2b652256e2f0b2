/** `{date}`, `{run}` and `{pipeline}` in `output.path`: each night leaves a file of its own, and no night touches another. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { collect, openCheckpointReader, planRun, publish, submit } from '../../../pipelines/index.js';
import type { Failpoint } from '../../../src/failpoints.js';
import type { LoadTarget } from '../../../src/load/load-target.js';
import { applyDelta, readRows } from '../../helpers/csv/apply-delta.js';
import { behaviour } from '../../helpers/jobs/interrupted-job.js';
import { DAY, type Line, line, type Nights, withNights } from '../../helpers/jobs/nights.js';
import { callMain } from '../../helpers/processes/call-main.js';

const A = [line('Acme'), line('Bolt')];
const B = [line('Acme'), line('Bolt', 'Elsewhere'), line('Coil')];
const template = { output: { path: 'out/{pipeline}-{date}.csv' }, reuse: { maxMiss: '100%' } };

const signal = new AbortController().signal;

/** The day of the nights' clock. */
const today = (nights: Nights) => new Date(nights.options.clock!.now()).toISOString().slice(0, 10);

async function filesOf(nights: Nights): Promise<Record<string, string>> {
  const folder = join(nights.folder, 'out');
  const names = await readdir(folder);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')])),
  );
}

/** Stops a run in a window, as a kill would. */
function killedAt(point: Failpoint) {
  return {
    at: (here: Failpoint) => {
      if (here === point) throw new Error(`killed at ${point}`);
    },
  };
}

describe('an output with a template', () => {
  it('has a path for each night, and leaves those of earlier nights as they are', async () => {
    await withNights({ behaviour, config: template }, async (nights) => {
      const first = await nights.night(A);
      const firstPath = join(nights.folder, 'out', `hostile-${today(nights)}.csv`);
      expect(first.output).toMatchObject({ path: firstPath, inPlace: true });
      const before = await filesOf(nights);
      expect(Object.keys(before).sort()).toEqual(
        ['', '._SUCCESS', '.manifest.json'].map((end) => `hostile-${today(nights)}.csv${end}`),
      );
      expect(JSON.parse(before[`hostile-${today(nights)}.csv.manifest.json`]!).output.path).toBe(firstPath);

      nights.pass(DAY);
      const second = await nights.night(B);
      expect(second.output!.path).toBe(join(nights.folder, 'out', `hostile-${today(nights)}.csv`));
      expect(second.output!.path).not.toBe(firstPath);
      expect(await filesOf(nights)).toMatchObject(before);

      // The source of the first night again: its own file is in place, and keeps its date.
      nights.pass(DAY);
      const third = await nights.night(A);
      expect(third).toMatchObject({
        run: first.run,
        found: 'done',
        publication: 1,
        publishedAgain: null,
        bought: [],
      });
      expect(third.output).toMatchObject({ path: firstPath, inPlace: true });
      await rm(firstPath);
      const restored = await nights.night(A);
      expect(restored).toMatchObject({ run: first.run, publication: 3, output: { path: firstPath } });
      expect(await readFile(firstPath, 'utf8')).toBe(before[`hostile-${first.output!.path.slice(-14)}`]);
    });
  });

  it('keeps its path when the run goes on another day, in another time zone', async () => {
    await withNights({ behaviour, config: template }, async (nights) => {
      await nights.write(A);
      const begun = `hostile-${today(nights)}.csv`;
      const killed = nights.again({}, killedAt('after-work-write-before-commit'));
      await expect(killed).rejects.toThrow('killed');
      expect(Object.keys(await filesOf(nights)).some((name) => name.startsWith(begun))).toBe(true);
      nights.pass(2 * DAY);
      const timeZone = 'Pacific/Kiritimati';
      const summary = await nights.again({ budget: { timeZone } });
      expect(summary).toMatchObject({
        found: 'continued',
        output: { path: join(nights.folder, 'out', begun) },
      });
      expect(Object.keys(await filesOf(nights)).filter((name) => !name.startsWith(begun))).toEqual([]);
    });
  });

  it.each(['after-publishing-before-rename', 'after-manifest-before-marker'] as const)(
    'is finished at its path after a kill at %s',
    async (point) => {
      await withNights({ behaviour, config: { output: { path: 'out/{run}.csv' } } }, async (nights) => {
        await nights.write(A);
        await expect(nights.again({}, killedAt(point))).rejects.toThrow('killed');
        nights.pass(DAY);
        // It is finished also where a new run is asked for.
        const { next } = await planRun(nights.config(), { signal, fresh: true });
        const { run, output } = await nights.again();
        expect(next).toMatchObject({ kind: 'continue', run });
        expect(output!.path).toBe(join(nights.folder, 'out', `${run}.csv`));
        const names = ['', '._SUCCESS', '.manifest.json'].map((end) => `${run}.csv${end}`);
        expect(Object.keys(await filesOf(nights)).sort()).toEqual(names);
      });
    },
  );

  it('is frozen, and a run that is done can be published with another one', async () => {
    await withNights({ behaviour, config: template }, async (nights) => {
      await nights.write(A);
      await submit(nights.config(), nights.options);
      expect(await nights.failure({ output: { path: 'out/{date}.csv' } })).toMatchObject({
        code: 'CONFIG_FROZEN',
        message: expect.stringMatching(/\{pipeline\}-\{date\}\.csv.* when it began, .*\/\{date\}\.csv/),
      });
      const { run, createdAt } = await collect(nights.config(), nights.options);
      const day = new Date(createdAt).toISOString().slice(0, 10);
      nights.pass(DAY);
      const config = nights.config({ output: { path: 'out/{date}/{run}.csv' } });
      const again = await publish(config, run, nights.options);
      expect(again.output!.path).toBe(join(nights.folder, 'out', day, `${run}.csv`));
      const reader = (await openCheckpointReader(config.stateDir))!;
      const { frozen } = (await reader.run(run))!;
      await reader.close();
      expect(frozen['output.path']).toContain('{date}/{run}.csv');
    });
  });

  it('of a superseded run leaves no work file', async () => {
    await withNights({ behaviour, config: template }, async (nights) => {
      await nights.write(A);
      await expect(nights.again({}, killedAt('after-merged-before-next'))).rejects.toThrow('killed');
      nights.pass(DAY);
      await nights.write(B);
      const { output } = await nights.again({}, { fresh: true, yes: true });
      const names = Object.keys(await filesOf(nights));
      expect(names.filter((name) => name.endsWith('.partial'))).toEqual([]);
      expect(names).toContain(output!.path.split('/').at(-1));
    });
  });

  it('has a delta to the last publication, which has another path', async () => {
    const config = { ...template, source: { key: 'id' }, output: { ...template.output, delta: true } };
    await withNights({ behaviour, config }, async (nights) => {
      const rowsAt = async (path: string) => readRows(await readFile(path, 'utf8')).slice(1);
      const first = await nights.night(A.map(withId));
      nights.pass(DAY);
      const second = await nights.night(B.map(withId));
      const before = new Map(
        (await rowsAt(first.output!.path)).map((row) => [JSON.stringify([row[0]]), row]),
      );
      const delta = await rowsAt(`${second.output!.path}.delta.csv`);
      expect(delta.map((row) => row.at(-1))).toEqual(['changed', 'added']);
      const after = applyDelta(before, delta, [0]);
      expect([...after.values()]).toEqual(await rowsAt(second.output!.path));
    });
  });

  it('publishes an earlier source again where publications are loaded: A, B, A loads A again', async () => {
    const load = { into: 'postgres://nobody@127.0.0.1:1/none', table: 'businesses', mode: 'replace' };
    await withNights({ behaviour, config: { ...template, load } }, async (nights) => {
      const loaded: number[] = [];
      const loadTarget: LoadTarget = {
        check: async () => undefined,
        load: async ({ publication }) => {
          const already = loaded.at(-1) === publication;
          if (!already) loaded.push(publication);
          return { already, base: null, written: 0, removed: 0, added: [] };
        },
      };
      const night = (lines: readonly Line[]) => {
        nights.pass(DAY);
        return nights.night(lines, {}, { loadTarget });
      };
      const first = await night(A);
      const second = await night(B);
      const third = await night(A);
      expect(third).toMatchObject({ run: first.run, found: 'done', publication: 3, bought: [] });
      expect(third.publishedAgain).toBe(
        `publication 2 (run ${second.run}) came after it, and it is loaded again`,
      );
      expect(third.output!.path).toBe(first.output!.path);
      expect(await night(A)).toMatchObject({ publication: 3, publishedAgain: null });
      expect(loaded).toEqual([1, 2, 3]);
    });
  });

  it('is refused where another pipeline has published, before anything is paid', async () => {
    await withNights({ behaviour, config: { output: { path: 'out/{date}.csv' } } }, async (nights) => {
      await nights.night(A);
      const folios = nights.service.folios.length;
      const other = { pipeline: 'other', stateDir: 'other-state' };
      const error = await nights.failure(other, nights.options);
      expect(error).toMatchObject({ code: 'OUTPUT_OF_OTHER_PIPELINE', exitCode: 2 });
      await expect(planRun(nights.config(other), { signal })).rejects.toMatchObject({
        code: 'OUTPUT_OF_OTHER_PIPELINE',
      });
      expect(nights.service.folios.length).toBe(folios);
    });
  });

  it('is shown by plan, and by the command once the run has begun', async () => {
    await withNights({ behaviour, config: { output: { path: 'out/{date}-{run}.csv' } } }, async (nights) => {
      await nights.write(A);
      const shown = await planRun(nights.config(), { signal });
      const out = join(nights.folder, 'out');
      expect(shown.output).toBe(join(out, `${today(nights)}-{run}.csv`));
      const { run } = await submit(nights.config());
      const begun = await planRun(nights.config(), { signal });
      expect(begun.output).toBe(join(out, `${today(nights)}-${run}.csv`));
      expect(await readdir(out)).toEqual([]);
      await writeFile(join(nights.folder, 'foliopipe.yaml'), yamlOf(nights));
      const check = await callMain(['check', '-c', join(nights.folder, 'foliopipe.yaml')]);
      expect(check.stdout).toContain(join(out, `${today(nights)}-{run}.csv: `));
    });
  });
});

const withId = ({ record, raw }: Line, at: number): Line => ({
  record: { ...record, id: `${at}` },
  raw: [`${at}`, ...raw.split(',').slice(1)].join(','),
});

function yamlOf(nights: Nights): string {
  return `
pipeline: hostile
source: { path: source.csv }
upload: { columns: { name: Business } }
service: { baseUrl: "${nights.service.url}", token: ${nights.service.token} }
output: { path: "out/{date}-{run}.csv" }
`;
}
