import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { RefusedError } from '../../../src/errors.js';
import { pickRecords } from '../../../src/source/read-records.js';
import { restoreChunk } from '../../../src/stages/chunk/chunk-content.js';
import { chunkRecords } from '../../../src/stages/chunk/chunk-records.js';
import { type CutLimits, createUploadLayout, cutChunks } from '../../../src/stages/chunk/cut-chunks.js';
import { recordsFrom, recordsOfChunk } from '../../../src/stages/read-source.js';
import { splitChunk } from '../../../src/stages/submit/resolve-refused.js';
import { submitChunks } from '../../../src/stages/submit/submit-chunks.js';
import { permitName } from '../../../src/streams/permits.js';
import { createFakeApi } from '../../fake-service/fake-api.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { createStageRun, numberedSource, type StageRun } from '../../helpers/stages/stage-run.js';
import { collect, wholeContent } from '../../helpers/streams/collect.js';

const folder = useFolder();

const textOf = async (run: StageRun, chunk: number) =>
  String(await wholeContent((await run.files.chunkContent(chunk)).open()));

/** Rejected records before, within and behind the second chunk, whose four records are 6, 7, 10 and 11. */
async function awkward(newline: string): Promise<{ run: StageRun; chunk: ChunkRow }> {
  const lines = numberedSource(10)
    .replace('n4,', 'bad\nn4,')
    .replace('n7,', 'bad\nbad,bad,bad\nn7,')
    .replace('n9,', 'bad\nn9,');
  const source = lines.replace('n6,', '"n\n6",').replaceAll('\n', newline);
  const path = join(await folder(), 'source.csv');
  const run = await createStageRun(await folder(), {
    source,
    config: { source: { path, maxRejected: '100%' }, chunks: { maxRecords: 4 } },
  });
  const [, chunk] = await collect(chunkRecords(run)());
  return { run, chunk: chunk! };
}

describe.each(['\n', '\r\n'])('a chunk between rejected records, with %j', (newline) => {
  it('is read again with exactly its records', async () => {
    const { run, chunk } = await awkward(newline);
    const numbers: number[] = [];
    for await (const batch of recordsOfChunk(run, chunk)) numbers.push(...batch.numbers);
    expect([chunk.firstRecord, chunk.lastRecord, chunk.records]).toEqual([6, 11, 4]);
    expect(numbers).toEqual([6, 7, 10, 11]);
  });

  it('is split into what a cut would have made, and each half can be restored', async () => {
    const { run, chunk } = await awkward(newline);
    const from = { position: chunk.start, record: chunk.firstRecord };
    const cuts = [];
    const limits = { maxRecords: 2, maxBytes: 1_000_000 };
    const layout = createUploadLayout(run.source, run.config.upload);
    for await (const { chunk: cut, content } of cutChunks(recordsFrom(run, from), layout, limits)) {
      cuts.push({ ...cut, text: Buffer.from(content).toString() });
    }
    const halves = await splitChunk(run, chunk);
    expect(halves.map(({ number, state }) => `${number} ${state}`)).toEqual(['4 cut', '5 cut']);
    for (const [at, half] of halves.entries()) {
      const { text, ...cut } = cuts[at]!;
      expect(half).toMatchObject(cut);
      expect(await textOf(run, half.number)).toBe(text);
      await run.files.removeChunk(half.number);
      await restoreChunk(run, half);
      expect(await textOf(run, half.number)).toBe(text);
    }
    await expect(textOf(run, chunk.number)).rejects.toThrow('ENOENT');
    expect(await run.checkpoint.chunk(run.id, chunk.number)).toMatchObject({ state: 'split' });
    expect((await run.checkpoint.run(run.id))!.chunks).toBe(4);
  });
});

it('a chunk of failed records that go out again is split into these records alone', async () => {
  const run = await createStageRun(await folder(), { records: 10, config: { chunks: { maxRecords: 10 } } });
  const [all] = await collect(chunkRecords(run)());
  const layout = createUploadLayout(run.source, run.config.upload);
  const numbers = [2, 3, 9];
  const batches = pickRecords(recordsOfChunk(run, all!), [numbers]);
  for await (const { chunk } of cutChunks(batches, layout, run.config.chunks as CutLimits)) {
    await run.checkpoint.recordCut(run.id, {
      ...chunk,
      picked: { round: 1, numbers },
    });
  }
  const halves = await splitChunk(run, (await run.checkpoint.chunk(run.id, 2))!);
  const texts = halves.map(({ number }) => textOf(run, number));
  expect(await Promise.all(texts)).toEqual(['id,name\n2,n2\n3,n3\n', 'id,name\n9,n9\n']);
  expect(halves.map(({ round, firstRecord, lastRecord }) => [round, firstRecord, lastRecord])).toEqual([
    [1, 2, 3],
    [1, 9, 9],
  ]);
  expect(await run.checkpoint.pickedRecords(run.id, 3)).toEqual([2, 3]);
  expect(await run.checkpoint.pickedRecords(run.id, 4)).toEqual([9]);
});

it('a chunk is not split while its source is being changed', async () => {
  const run = await createStageRun(await folder(), { records: 4, config: { chunks: { maxRecords: 4 } } });
  const [chunk] = await collect(chunkRecords(run)());
  const pickedRecords: typeof run.checkpoint.pickedRecords = async (...of) => {
    writeFileSync(run.source.files[0]!.path, numberedSource(4).replace('n3,', 'm3,'));
    return run.checkpoint.pickedRecords(...of);
  };
  const split = splitChunk({ ...run, checkpoint: { ...run.checkpoint, pickedRecords } }, chunk!);
  await expect(split).rejects.toMatchObject({ code: 'SOURCE_CHANGED' });
  expect(await run.checkpoint.chunk(run.id, 1)).toMatchObject({ state: 'cut' });
});

describe('submitting what is refused', () => {
  /** Files with the bad record are refused; the records of every file sent are added to `seen`. */
  function refusing(bad: string, seen: string[]) {
    const service = createFakeApi();
    const upload: typeof service.upload = async (request, signal) => {
      const ids = String(await wholeContent(request.file.open()))
        .split('\n')
        .slice(1, -1)
        .map(idOf);
      seen.push(`${ids[0]}-${ids.at(-1)}`);
      if (!ids.includes(bad)) return service.upload(request, signal);
      const facts = { status: 422, said: `${'no '.repeat(200)}!` };
      throw new RefusedError('SERVICE_REFUSED', 'upload: the service refuses', { facts });
    };
    return { ...service, upload };
  }
  const idOf = (line: string) => line.split(',')[0]!;

  it('sends the halves next, in the order of the source, and passes on the refused record', async () => {
    const seen: string[] = [];
    const config = { chunks: { maxRecords: 4 }, concurrency: { uploads: 1 } };
    const run = await createStageRun(await folder(), { records: 12, config, api: refusing('7', seen) });
    const passed = await collect(submitChunks(run)(chunkRecords(run)()));
    expect(seen).toEqual(['1-4', '5-8', '5-6', '7-8', '7-7', '8-8', '9-12']);
    expect(passed.map(({ firstRecord, state }) => `${firstRecord} ${state}`)).toEqual([
      '1 submitted',
      '5 submitted',
      '7 refused',
      '8 submitted',
      '9 submitted',
    ]);
    const refused = passed[2]!;
    expect(refused.refusal).toMatch(/^(no ){150}/);
    expect(refused.refusal).toHaveLength(500);
    expect(refused).toMatchObject({ counts: { successful: 0, failed: 1 }, folio: null });
  });

  it('gives every permit back that was taken for it', async () => {
    const config = { chunks: { maxRecords: 4 }, concurrency: { uploads: 2, folios: 6 } };
    const run = await createStageRun(await folder(), { records: 12, config, api: refusing('7', []) });
    await collect(submitChunks(run)(chunkRecords(run)()));
    // Four folios are open: there is room for two more.
    expect(await run.folioPermits.acquire(permitName(run.id, 98), run.signal)).toBe(true);
    expect(await run.folioPermits.acquire(permitName(run.id, 99), run.signal)).toBe(true);
  });

  it('splits no more chunks than allowed, also where several are refused at the same time', async () => {
    const service = createFakeApi();
    let sent = 0;
    const upload: typeof service.upload = async (request, signal) => {
      sent += 1;
      if (sent === 1) return service.upload(request, signal);
      throw new RefusedError('SERVICE_REFUSED', 'upload: the service refuses', { facts: { status: 422 } });
    };
    const config = { chunks: { maxRecords: 2 }, concurrency: { uploads: 3 }, failures: { maxSplits: 1 } };
    const run = await createStageRun(await folder(), { records: 6, config, api: { ...service, upload } });
    const submitting = collect(submitChunks(run)(chunkRecords(run)()));
    await expect(submitting).rejects.toMatchObject({ hint: expect.stringContaining('failures.maxSplits') });
    expect((await run.checkpoint.tally(run.id)).chunks.split).toBe(1);
  });
});
