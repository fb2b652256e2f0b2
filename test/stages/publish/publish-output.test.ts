import { createHash } from 'node:crypto';
import { appendFile, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Publication } from '../../../src/checkpoint/checkpoint.js';
import type { Failpoint } from '../../../src/failpoints.js';
import { originsOf } from '../../../src/report/origins.js';
import { noRows } from '../../../src/results/row-counts.js';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { publishOutput, workPath } from '../../../src/stages/publish/publish-output.js';
import { putInPlace } from '../../../src/stages/publish/put-in-place.js';
import { stampAt } from '../../../src/streams/file-identity.js';
import { useFolder } from '../../helpers/folders/folders.js';
import {
  createStageRun,
  downloadAll,
  inNewProcess,
  nothing,
  type StageRun,
} from '../../helpers/stages/stage-run.js';
import { turns } from '../../helpers/streams/gates.js';

const folder = useFolder();
const header = 'name,address,prediction_status,prediction_error_code,prediction_error,prediction_code\n';
const whole = `${header}${[1, 2, 3, 4, 5, 6].map((n) => `n${n},${n} Main St,SUCCESSFUL,,,c${n}\n`).join('')}`;

async function downloaded(config: Record<string, unknown> = {}): Promise<StageRun> {
  const run = await createStageRun(await folder(), { config });
  await downloadAll(run);
  return run;
}

const publish = async (run: StageRun): Promise<Publication> =>
  (await publishOutput(run)(mergeResults(run)(nothing())))!;
const output = (run: StageRun) => readFile(run.config.output.path, 'utf8');
const besides = async () =>
  (await readdir(await folder())).filter((name) => name.startsWith('out.csv')).sort();

describe('publishing', () => {
  it('puts output, manifest and marker in place, and nothing else', async () => {
    const run = await downloaded({ output: { path: join(await folder(), 'out.csv'), mode: '0604' } });
    const publication = await publish(run);
    expect(await output(run)).toBe(whole);
    expect(publication).toEqual({
      number: 1,
      bytes: whole.length,
      sha256: createHash('sha256').update(whole).digest('hex'),
      records: 6,
      exitCode: 0,
      partial: false,
      counts: { read: 6, successful: 6, failed: 0, unprocessed: 0, rejected: 0 },
      origins: originsOf({ ...noRows, successful: 6 }),
      resultColumns: ['code'],
      output: run.config.output,
      at: expect.any(Number),
      night: expect.objectContaining({ paid: 6, amount: null, reasons: [], predictions: null }),
    });
    const night = { ...publication.night, run: run.id, publication: 1 };
    expect(await run.checkpoint.nights('nightly', 9)).toEqual([night]);
    const { path } = run.config.output;
    const { bytes, sha256 } = publication;
    expect(await run.checkpoint.publications('nightly')).toEqual([
      { number: 1, run: run.id, path, bytes, sha256, stamp: stampAt(path), isSample: false },
    ]);
    expect(await besides()).toEqual(['out.csv', 'out.csv._SUCCESS', 'out.csv.manifest.json']);
    expect((await stat(run.config.output.path)).mode & 0o777).toBe(0o604);
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'done', publication });
    const manifest = JSON.parse(await readFile(`${run.config.output.path}.manifest.json`, 'utf8'));
    expect(manifest).toMatchObject({
      manifestVersion: 1,
      publication: 1,
      status: 'SUCCESS',
      complete: true,
      counts: { read: 6, successful: 6, failed: 0, unprocessed: 0, rejected: 0 },
      origins: { sent: { records: 6 }, reused: { records: 0 }, duplicates: { records: 0 } },
      saved: { records: 0 },
      uploads: { accepted: 3, ambiguous: 0, resubmitted: 0 },
      output: { bytes: whole.length, records: 6, sha256: publication.sha256 },
    });
    // Only a run that looks up known answers has it.
    expect(manifest.reuse).toBeUndefined();
    expect(
      manifest.chunks.map(({ chunk, successful }: Record<string, number>) => [chunk, successful]),
    ).toEqual([
      [1, 2],
      [2, 2],
      [3, 2],
    ]);
    const marker = JSON.parse(await readFile(`${run.config.output.path}._SUCCESS`, 'utf8'));
    expect(marker).toMatchObject({ run: run.id, publication: 1, exitCode: 0, rehearsal: false });
  });

  it('takes old markers away before the new output stands', async () => {
    const run = await downloaded();
    for (const name of ['_SUCCESS', '_PARTIAL', '_REHEARSAL'])
      await writeFile(`${run.config.output.path}.${name}`, 'old');
    await writeFile(`${run.config.output.path}.rejects.csv`, 'old');
    await expect(publish(inNewProcess(run, 'after-rename-before-manifest'))).rejects.toThrow('killed');
    expect(await besides()).toEqual(['out.csv', 'out.csv.rejects.csv']);
    await putInPlace(run, (await run.checkpoint.run(run.id))!.publication!);
    expect(await besides()).toEqual(['out.csv', 'out.csv._SUCCESS', 'out.csv.manifest.json']);
  });

  it.each<[Failpoint]>([
    ['after-publishing-before-rename'],
    ['after-rename-before-manifest'],
    ['after-manifest-before-marker'],
    ['after-marker-before-done'],
  ])('killed %s goes on from there', async (point) => {
    const run = await downloaded();
    await expect(publish(inNewProcess(run, point))).rejects.toThrow('killed');
    const row = (await run.checkpoint.run(run.id))!;
    expect(row.state).toBe('publishing');
    await putInPlace(run, row.publication!);
    expect(await output(run)).toBe(whole);
    expect(await besides()).toEqual(['out.csv', 'out.csv._SUCCESS', 'out.csv.manifest.json']);
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'done' });
  });

  it.each<[string, Failpoint, (run: StageRun) => string]>([
    ['work file', 'after-publishing-before-rename', workPath],
    ['output', 'after-rename-before-manifest', (run) => run.config.output.path],
  ])('with a %s that somebody changed writes it anew', async (_, point, path) => {
    const run = await downloaded();
    await expect(publish(inNewProcess(run, point))).rejects.toThrow('killed');
    await appendFile(path(run), 'x');
    await expect(putInPlace(run, (await run.checkpoint.run(run.id))!.publication!)).rejects.toMatchObject({
      code: 'WORK_FILE_CHANGED',
      exitCode: 5,
    });
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'open' });
    await publish(run);
    expect(await output(run)).toBe(whole);
  });

  it('does not begin while a chunk is missing', async () => {
    const run = await downloaded();
    await run.checkpoint.recordUnprocessed(run.id, 2, 'FOLIO_LOST');
    await run.checkpoint.recordFound(run.id, 2);
    await expect(publish(run)).rejects.toMatchObject({ exitCode: 5 });
    expect(await besides()).toEqual([`out.csv.${run.id}.partial`]);
  });
});

describe('the source before publishing', () => {
  it('may have another time and the same content', async () => {
    const run = await downloaded();
    await utimes(run.source.files[0]!.path, 1, 1);
    await publish(run);
    expect(await output(run)).toBe(whole);
  });

  it.each([
    ['changed', (path: string) => writeFile(path, 'name,address\nsomebody,else\n')],
    ['gone', (path: string) => rm(path)],
  ])('that is %s stops it, and nothing is published', async (_, change) => {
    const run = await downloaded();
    const merging = publishOutput(run)(
      (async function* () {
        yield* mergeResults(run)(nothing());
        await change(run.source.files[0]!.path);
      })(),
    );
    await expect(merging).rejects.toMatchObject({ exitCode: 4 });
    expect(await besides()).toEqual([`out.csv.${run.id}.partial`]);
    expect(await run.checkpoint.run(run.id)).toMatchObject({ state: 'open' });
  });
});

describe('the work file', () => {
  const partlyMerged = async () => {
    const run = await downloaded();
    await expect(publish(inNewProcess(run, 'after-work-write-before-commit', 3))).rejects.toThrow('killed');
    expect(await run.checkpoint.lastStretch(run.id)).toMatchObject({ lastRecord: 4 });
    return run;
  };

  it.each<[string, (path: string) => Promise<void>]>([
    ['longer than committed', async () => undefined],
    ['much longer', (path) => appendFile(path, 'x'.repeat(100_000))],
    ['shorter by a byte of the second chunk', (path) => truncate(path, whole.indexOf('n5,') - 1)],
    ['shorter than the first chunk', (path) => truncate(path, 10)],
    ['empty', (path) => truncate(path, 0)],
    ['gone', (path) => rm(path)],
  ])('that is %s leads to the same bytes', async (_, change) => {
    const run = await partlyMerged();
    await change(workPath(run));
    await publish(run);
    expect(await output(run)).toBe(whole);
  });

  it('is 0600 until it is published', async () => {
    const run = await partlyMerged();
    expect((await stat(workPath(run))).mode & 0o777).toBe(0o600);
  });
});

describe('rejected records', () => {
  it('stand beside the output with their raw bytes', async () => {
    const source = 'name,address\na,1\nbad "one",\nb,2\nthree,of,them\n';
    const run = await createStageRun(await folder(), {
      source,
      config: { source: { path: join(await folder(), 'source.csv'), maxRejected: '100%' } },
    });
    await downloadAll(run);
    await publish(run);
    expect(await output(run)).toBe(`${header}a,1,SUCCESSFUL,,,c1\nb,2,SUCCESSFUL,,,c3\n`);
    const rejects = (await readFile(`${run.config.output.path}.rejects.csv`, 'utf8')).split('\n');
    expect(rejects[0]).toBe('file,record,line,byte,code,reason,raw');
    const { path } = run.source.files[0]!;
    expect(rejects[1]).toMatch(`${path},2,3,17,SOURCE_QUOTE_MISPLACED,`);
    expect(rejects[1]).toMatch(/,"bad ""one"","$/);
    expect(rejects[2]).toMatch(`${path},4,5,32,SOURCE_FIELD_COUNT,`);
    expect(rejects[2]).toMatch(/,"three,of,them"$/);
    expect(rejects).toHaveLength(4);
  });
});

describe('whatever cannot be changed while an output is put in place', () => {
  const failure = new Error('cannot be changed');

  /** A store and a checkpoint that take their time, and whose nth change fails. */
  function failingAt(run: StageRun, nth: number) {
    let changes = 0;
    const late = <T extends object>(of: T, isChange: (name: string) => boolean): T => {
      const methods = Object.entries(of).map(([name, method]) => [
        name,
        isChange(name)
          ? async (...args: never[]) => {
              changes += 1;
              const fails = changes === nth;
              await turns();
              if (fails) throw failure;
              return (method as (...given: never[]) => unknown)(...args);
            }
          : method,
      ]);
      return Object.fromEntries(methods) as T;
    };
    const output = late(run.output, (name) => ['put', 'remove', 'checkWritable'].includes(name));
    const checkpoint = late(run.checkpoint, (name) => name.startsWith('record'));
    return { failing: { ...run, output, checkpoint }, changes: () => changes };
  }

  it('ends the run with its error, and no marker stands beside less than the whole', async () => {
    for (let nth = 1; ; nth++) {
      const run = await downloaded();
      const { failing, changes } = failingAt(run, nth);
      const end = await publish(failing).then(
        () => 'done',
        (error: unknown) => error,
      );
      const names = await besides();
      if (names.includes('out.csv._SUCCESS')) {
        expect(names).toEqual(['out.csv', 'out.csv._SUCCESS', 'out.csv.manifest.json']);
        expect(await output(run)).toBe(whole);
      }
      if (changes() < nth) {
        expect(end).toBe('done');
        expect(nth).toBeGreaterThan(10);
        return;
      }
      expect(end, `change ${nth}`).toBe(failure);
      for (const name of names) await rm(join(await folder(), name));
    }
  });
});
