/** The output while it grows: what this process knows of it without reading it, and the memory behind its rows. */
import { createHash } from 'node:crypto';
import { appendFile, readdir, readFile, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { downloadParts } from '../../../src/stages/download/download-parts.js';
import { mergeResults } from '../../../src/stages/merge/merge-results.js';
import { appendMerged, publishOutput, workPath } from '../../../src/stages/publish/publish-output.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { trackFolios } from '../../../src/stages/track/track-folios.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, downloadAll, nothing, type StageRun } from '../../helpers/stages/stage-run.js';

const folder = useFolder();

function enriched(records: number): string {
  const rows = Array.from({ length: records }, (_, at) => {
    const n = at + 1;
    return `n${n},${n} Main St,SUCCESSFUL,,,c${n}\n`;
  });
  const header = 'name,address,prediction_status,prediction_error_code,prediction_error,prediction_code\n';
  return header + rows.join('');
}
const whole = enriched(6);

async function downloaded(): Promise<StageRun> {
  const run = await createStageRun(await folder());
  await downloadAll(run);
  return run;
}

const publish = async (run: StageRun) => (await publishOutput(run)(mergeResults(run)(nothing())))!;
const output = (run: StageRun) => readFile(run.config.output.path, 'utf8');

/** What the run is in a process that goes on with it. */
function nextProcess(run: StageRun): StageRun {
  const controller = new AbortController();
  return { ...run, controller, signal: controller.signal, work: { written: undefined } };
}

async function* only<T>(items: AsyncIterable<T>, count: number): AsyncGenerator<T> {
  let given = 0;
  for await (const item of items) {
    yield item;
    given += 1;
    if (given === count) return;
  }
}

describe('a work file that this process has written', () => {
  /** Does something to the work file when the last chunk is merged. */
  const publishAfter = (run: StageRun, harm: (path: string) => Promise<void>) =>
    publishOutput(run)(
      (async function* () {
        yield* mergeResults(run)(nothing());
        await harm(workPath(run));
      })(),
    );

  it.each<[string, (path: string) => Promise<void>]>([
    [
      'written over',
      async (path) => {
        const text = await readFile(path, 'utf8');
        await writeFile(path, text.replace('n1,', 'x1,'));
        await utimes(path, 1, 1);
      },
    ],
    ['cut off', (path) => truncate(path, 100)],
    ['removed', (path) => rm(path)],
  ])('and somebody has %s is not published, but written anew', async (_, harm) => {
    const run = await downloaded();
    await expect(publishAfter(run, harm)).rejects.toMatchObject({ exitCode: 5 });
    expect(await readdir(await folder())).not.toContain('out.csv');
    await publish(nextProcess(run));
    expect(await output(run)).toBe(whole);
  });

  it('in one chain or in several need not be read; one that a process before it began must be', async () => {
    const run = await downloaded();
    const known: unknown[] = [];
    const look = (work: StageRun['work']): StageRun => ({
      ...run,
      work,
      at: (point) => {
        if (point === 'after-last-merge-before-publishing') known.push(work.written?.of(workPath(run)));
      },
    });
    await appendMerged(run)(mergeResults(run)(nothing()));
    await publish(look(run.work));
    await run.checkpoint.recordUnmerged(run.id, 1);
    await appendMerged(run)(mergeResults(run)(nothing()));
    await publish(look({ written: undefined }));
    const sha256 = createHash('sha256').update(whole).digest('hex');
    expect(known).toEqual([{ bytes: whole.length, sha256 }, undefined]);
    expect(await output(run)).toBe(whole);
  });

  it.each(['n1,', 'n2,', 'n6,'])('in part is checked stretch by stretch: a wrong %s', async (text) => {
    const run = await downloaded();
    await appendMerged(run)(only(mergeResults(run)(nothing()), 1));
    const next = nextProcess(run);
    await appendMerged(next)(mergeResults(next)(nothing()));
    const written = await readFile(workPath(run), 'utf8');
    expect(written).toBe(whole);
    await writeFile(workPath(run), written.replace(text, `x${text.slice(1)}`));
    await expect(publish(nextProcess(run))).rejects.toMatchObject({ exitCode: 5 });
    await publish(nextProcess(run));
    expect(await output(run)).toBe(whole);
  });

  it('in another process is checked and published, also a stretch that is longer than one read', async () => {
    const long = 'x'.repeat(300_000);
    const source = `name,address\n${['a', 'b', 'c', 'd'].map((name) => `${name},${long}\n`).join('')}`;
    const run = await createStageRun(await folder(), { source });
    await downloadAll(run);
    await appendMerged(run)(mergeResults(run)(nothing()));
    const stretch = await run.checkpoint.lastStretch(run.id);
    expect(stretch).toMatchObject({ firstRecord: 3, lastRecord: 4 });
    const written = await readFile(workPath(run), 'utf8');
    await publish(nextProcess(run));
    expect(await output(run)).toBe(written);
  });

  it('in part, and to which somebody appends, is not published, but written anew', async () => {
    const run = await downloaded();
    await appendMerged(run)(only(mergeResults(run)(nothing()), 1));
    const next = nextProcess(run);
    await expect(publishAfter(next, (path) => appendFile(path, 'x'))).rejects.toMatchObject({ exitCode: 5 });
    await publish(nextProcess(run));
    expect(await output(run)).toBe(whole);
  });

  it('and from which rows are taken back is written on from there, and published', async () => {
    const run = await downloaded();
    await appendMerged(run)(mergeResults(run)(nothing()));
    await run.checkpoint.recordUnmerged(run.id, 3);
    await publish(run);
    expect(await output(run)).toBe(whole);
  });

  it('and from which rows are taken back while more are written ends the run so that it can go on', async () => {
    const run = await downloaded();
    let isTakenBack = false;
    const at: StageRun['at'] = (point) => {
      if (point !== 'after-merged-before-next' || isTakenBack) return;
      isTakenBack = true;
      void run.checkpoint.recordUnmerged(run.id, 1);
    };
    await expect(publish({ ...run, at })).rejects.toMatchObject({ code: 'ROWS_TAKEN_BACK', exitCode: 5 });
    await publish(nextProcess(run));
    expect(await output(run)).toBe(whole);
  });

  it('and somebody has looked at is published as it is', async () => {
    const run = await downloaded();
    const publication = await publishAfter(run, async (path) => void (await utimes(path, 1, 1)));
    expect(publication?.sha256).toBe(createHash('sha256').update(whole).digest('hex'));
    expect(await output(run)).toBe(whole);
  });
});

it('parts and rows stay whole, although their memory is freed at once', async () => {
  // Long enough that their memory is freed by foliopipe, and not by the garbage collector.
  const [chunks, each] = [12, 6000];
  const config = { chunks: { maxRecords: each }, concurrency: { uploads: 1, folios: 3, downloads: 2 } };
  const run = await createStageRun(await folder(), { records: chunks * each, config });
  const downloaded = downloadParts(run)(trackFolios(run)(submitChunks(run)(chunkRecords(run)())));
  await appendMerged(run)(mergeResults(run)(downloaded));
  expect((await readFile(workPath(run), 'utf8')) === enriched(chunks * each)).toBe(true);
});
