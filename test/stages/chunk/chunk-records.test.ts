import { existsSync, writeFileSync } from 'node:fs';
import { appendFile, readdir, readFile, readlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ChunkRow } from '../../../src/checkpoint/checkpoint.js';
import { chunkRecords, openChunks } from '../../../src/stages/chunk/chunk-records.js';
import { idsOf } from '../../fake-service/fake-api.js';
import { addChunk } from '../../helpers/checkpoint/advance-chunk.js';
import { useFolder } from '../../helpers/folders/folders.js';
import { throwAt } from '../../helpers/jobs/throw-at.js';
import { createStageRun, numberedSource } from '../../helpers/stages/stage-run.js';
import { resumed, submitAll } from '../../helpers/stages/submit-run.js';
import { collect } from '../../helpers/streams/collect.js';

const folder = useFolder();

/** The first chunks, taken as a process takes them that is then killed. */
async function some(chunks: AsyncGenerator<ChunkRow>, count: number): Promise<ChunkRow[]> {
  const found: ChunkRow[] = [];
  for await (const chunk of chunks) {
    found.push(chunk);
    if (found.length === count) break;
  }
  return found;
}

describe('cutting', () => {
  it('writes each chunk file just before it is asked for, and says when all are cut', async () => {
    const run = await createStageRun(await folder());
    await some(chunkRecords(run)(), 2);
    expect(await run.checkpoint.chunk(run.id, 3)).toBeUndefined();
    expect((await run.checkpoint.run(run.id))!.chunks).toBeNull();
    const rest = await collect(chunkRecords(run)());
    expect(rest.map(({ number, firstRecord, lastRecord }) => [number, firstRecord, lastRecord])).toEqual([
      [1, 1, 2],
      [2, 3, 4],
      [3, 5, 6],
    ]);
    for (const { number, sha256 } of rest) expect(await run.files.hasChunk(number, sha256)).toBe(true);
    expect((await run.checkpoint.run(run.id))!.chunks).toBe(3);
  });

  it.each(['LF', 'CRLF'])('goes on where it was killed, over rejected records, with %s', async (newline) => {
    const lines = numberedSource(6).replace('n3,', 'bad\nn3,').replace('n5,', 'bad,bad,bad\nn5,');
    const source = newline === 'LF' ? lines : lines.replaceAll('\n', '\r\n');
    const config = { source: { path: join(await folder(), 'source.csv'), maxRejected: '100%' } };
    const unbroken = await collect(chunkRecords(await createStageRun(await folder(), { source, config }))());
    expect(unbroken.map(({ firstRecord, lastRecord }) => [firstRecord, lastRecord])).toEqual([
      [1, 2],
      [4, 5],
      [7, 8],
    ]);
    for (const killedAfter of [1, 2, 3]) {
      const run = await createStageRun(await folder(), { source, config });
      await some(chunkRecords(run)(), killedAfter);
      expect(await collect(chunkRecords(run)())).toEqual(unbroken);
    }
  });

  it('goes on when the source is only touched or copied back: its content decides', async () => {
    const run = await createStageRun(await folder());
    const { path } = run.source.files[0]!;
    const unbroken = await collect(chunkRecords(await createStageRun(await folder()))());
    const cut: unknown[] = [];
    for await (const chunk of chunkRecords(run)()) {
      cut.push(chunk);
      await utimes(path, cut.length, cut.length);
    }
    expect(cut).toEqual(unbroken);
  });

  it.runIf(existsSync('/proc/self/fd'))(
    'has a source that is touched again and again open once',
    async () => {
      const run = await createStageRun(await folder(), {
        records: 100_000,
        config: { chunks: { maxRecords: 1_000 } },
      });
      const { path } = run.source.files[0]!;
      const isOpen = (descriptor: string) =>
        readlink(`/proc/self/fd/${descriptor}`).then(
          (target) => target === path,
          () => false,
        );
      let most = 0;
      const cutting = chunkRecords(run)();
      for (let touches = 0; touches < 60; touches++) {
        await cutting.next();
        await utimes(path, touches, touches);
        const open = await Promise.all((await readdir('/proc/self/fd')).map(isOpen));
        most = Math.max(most, open.filter(Boolean).length);
      }
      await cutting.return(undefined);
      expect(most).toBe(1);
    },
  );

  it.each([
    ['other names', (text: string) => text.replaceAll('n', 'm')],
    ['fewer records', (text: string) => text.slice(0, text.indexOf('n3'))],
  ])('reads again what it has read while the source had %s for a moment', async (_, change) => {
    const unbroken = await collect(chunkRecords(await createStageRun(await folder()))());
    const run = await createStageRun(await folder());
    const { path } = run.source.files[0]!;
    const whole = await readFile(path, 'utf8');
    await writeFile(path, change(whole));
    let asked = 0;
    const uploads = {
      inFlight: new Set<Promise<unknown>>(),
      unrecorded: [],
      // Asked once before the source is read, and then between the cut and its check.
      get stopped() {
        asked += 1;
        if (asked === 2) writeFileSync(path, whole);
        return false;
      },
    };
    expect(await collect(chunkRecords({ ...run, uploads })())).toEqual(unbroken);
    expect((await run.checkpoint.run(run.id))!.chunks).toBe(3);
  });

  it('stops when the source changes under it', async () => {
    const run = await createStageRun(await folder());
    const cutting = async () => {
      for await (const _ of chunkRecords(run)()) await appendFile(run.source.files[0]!.path, 'x,y\n');
    };
    await expect(cutting()).rejects.toMatchObject({ code: 'SOURCE_CHANGED', exitCode: 4 });
  });
});

it('on a resume chunks with an open folio come first, those that are done or ambiguous not at all', async () => {
  const run = await createStageRun(await folder());
  const states = ['cut', 'submitted', 'downloaded', 'finished', 'ambiguous', 'unprocessed', 'cut'] as const;
  for (const [at, state] of states.entries()) await addChunk(run.checkpoint, run.id, at + 1, state);
  await run.checkpoint.recordAllCut(run.id);
  expect((await collect(chunkRecords(run)())).map(({ number }) => number)).toEqual([2, 4, 1, 7]);
  expect((await collect(openChunks(run)())).map(({ number }) => number)).toEqual([2, 4]);
});

it('a kill before the chunk file is written costs nothing: the upload writes it', async () => {
  const run = await createStageRun(await folder(), { records: 3 });
  const at = throwAt('after-cut-before-chunk-file');
  await expect(collect(chunkRecords({ ...run, at })())).rejects.toThrow('killed');
  const [cut] = await run.checkpoint.chunksIn(run.id, ['cut'], 0, 9);
  expect(await run.files.hasChunk(1, cut!.sha256)).toBe(false);
  const next = resumed(run, run.api);
  expect((await submitAll(next)).map(({ number }) => number).sort()).toEqual([1, 2]);
  expect([...run.api.folios.values()].map((folio) => idsOf(folio).join()).sort()).toEqual(['1,2', '3']);
});
