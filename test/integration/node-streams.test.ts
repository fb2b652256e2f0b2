/** The stages as Node streams: a program puts its own in between, or takes the merged rows somewhere else. */
import { Duplex, PassThrough, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import {
  type ChunkRow,
  type Config,
  chunkRecords,
  downloadParts,
  InterruptedError,
  type MergedChunk,
  mergeResults,
  openRun,
  RefusedError,
  type RunOptions,
  refetchParts,
  runStages,
  submitChunks,
  trackFolios,
} from '../../pipelines/index.js';
import { withJob } from '../helpers/other-service-job.js';
import { foreseen, sourceText } from '../helpers/other-service-source.js';

/**
 * The example of the docs: instead of into a file, the rows of the output go to `load`, chunk after chunk in
 * the order of the source. What was paid for is kept: run again, it goes on, and gives every row once more.
 */
async function loadElsewhere(
  config: Config,
  load: (chunk: MergedChunk) => Promise<void>,
  options?: RunOptions,
): Promise<void> {
  const run = await openRun(config, options);
  const warehouse = new Writable({
    objectMode: true,
    write: (chunk: MergedChunk, _encoding, done) => {
      load(chunk).then(() => done(), done);
    },
  });
  try {
    await runStages(
      run.controller,
      chunkRecords(run),
      submitChunks(run),
      trackFolios(run),
      downloadParts(run),
      mergeResults(run, (chunk) => refetchParts(run, chunk)),
      (rows: AsyncIterable<MergedChunk>) => pipeline(rows, warehouse),
    );
  } finally {
    await run.close();
  }
}

const source = parse(sourceText(60), { columns: true }) as Record<string, string>[];

/** The rows loaded, as values. */
function rowsOf(chunks: readonly MergedChunk[]): string[][] {
  return parse(Buffer.concat(chunks.map(({ bytes }) => bytes)));
}

function expectRows(chunks: readonly MergedChunk[]): void {
  expect(chunks.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(chunks[0]!.columns).toEqual(['naics_code', 'naics_title', 'confidence']);
  expect(rowsOf(chunks)).toEqual(
    source.map((row) => {
      const { status, code, error, added } = foreseen(row);
      const { naics_code = '', naics_title = '', confidence = '' } = added;
      return [...Object.values(row), status, code, error, naics_code, naics_title, confidence];
    }),
  );
}

describe('stages that end in a Node stream', () => {
  it('load the rows of the output elsewhere', async () => {
    await withJob({ behaviour: { finishedAtPoll: ({ chunk }) => 7 - chunk } }, async (job) => {
      const loaded: MergedChunk[] = [];
      await loadElsewhere(job.config(), async (chunk) => void loaded.push(chunk));
      expectRows(loaded);
      expect(await job.published()).toEqual([]);
      expect(job.service.mostOpen).toBeLessThanOrEqual(4);

      const uploads = job.service.count('upload');
      const again: MergedChunk[] = [];
      await loadElsewhere(job.config(), async (chunk) => void again.push(chunk));
      expectRows(again);
      expect(job.service.count('upload')).toBe(uploads);
    });
  });

  it('fail with the error of the stage that failed, and can go on later', async () => {
    const behaviour = {
      trouble: ({ operation, chunk }: { operation: string; chunk: number | null }) =>
        operation === 'upload' && chunk === 4 ? ({ kind: 'answer', status: 402 } as const) : undefined,
    };
    await withJob({ behaviour }, async (job) => {
      const loaded: MergedChunk[] = [];
      const load = async (chunk: MergedChunk) => void loaded.push(chunk);
      await expect(loadElsewhere(job.config(), load)).rejects.toBeInstanceOf(RefusedError);
      job.service.behaviour = {};
      loaded.length = 0;
      await loadElsewhere(job.config(), load);
      expectRows(loaded);
      expect(new Set(job.service.acceptedByKey('record_id').values())).toEqual(new Set([1]));
    });
  });

  it('fail with the error of the one who loads', async () => {
    await withJob({}, async (job) => {
      const load = async ({ number }: MergedChunk) => {
        if (number === 2) throw new Error('the warehouse is full');
      };
      await expect(loadElsewhere(job.config(), load)).rejects.toThrow('the warehouse is full');
      const loaded: MergedChunk[] = [];
      await loadElsewhere(job.config(), async (chunk) => void loaded.push(chunk));
      expectRows(loaded);
    });
  });

  it('end when the signal says so, while they wait', async () => {
    await withJob({ behaviour: { finishedAtPoll: () => Number.POSITIVE_INFINITY } }, async (job) => {
      const controller = new AbortController();
      const config = job.config({ poll: { first: '1m', max: '5m' } });
      const running = loadElsewhere(config, async () => undefined, { signal: controller.signal }).catch(
        (error: unknown) => error,
      );
      await expect.poll(() => job.service.count('track'), { interval: 5, timeout: 20_000 }).toBe(4);
      controller.abort(new InterruptedError());
      expect(await running).toBeInstanceOf(InterruptedError);
    });
  });
});

describe('stages as Node streams', () => {
  it("make a pipeline with streams of one's own in between", async () => {
    await withJob({ behaviour: { finishedAtPoll: ({ chunk }) => 7 - chunk } }, async (job) => {
      const passed: number[] = [];
      const loaded: MergedChunk[] = [];
      const run = await openRun(job.config());
      const watch = new PassThrough({ objectMode: true });
      watch.on('data', ({ number }: ChunkRow) => passed.push(number));
      try {
        await pipeline([
          Readable.from(chunkRecords(run)()),
          Duplex.from(submitChunks(run)),
          Duplex.from(trackFolios(run)),
          watch,
          Duplex.from(downloadParts(run)),
          Duplex.from(mergeResults(run)),
          new Writable({
            objectMode: true,
            write: (chunk: MergedChunk, _encoding, done) => {
              loaded.push(chunk);
              done();
            },
          }),
        ]);
      } finally {
        run.controller.abort();
        await run.close();
      }
      expectRows(loaded);
      expect(passed.sort()).toEqual([1, 2, 3, 4, 5, 6]);
      expect(job.service.mostOpen).toBeLessThanOrEqual(4);
    });
  });
});
