import { Duplex, Readable, Transform, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import { chunkRecords, downloadParts, mergeResults, openRun, submitChunks, trackFolios, refetchParts, type MergedChunk } from '../../pipelines/index.js';
import { withJob, type Job } from '../helpers/other-service-job.js';

async function chain(job: Job, options: { signal?: AbortSignal; load?: (n: number) => void; wire?: boolean, passSignal?: boolean } = {}, changes = {}) {
  const run = await openRun(job.config(changes), options.signal ? { signal: options.signal } : {});
  const sink = new Writable({ objectMode: true, write: (c: MergedChunk, _e, done) => { try { options.load?.(c.number); done(); } catch (e) { done(e as Error); } } });
  if (options.wire) sink.on('error', (e) => run.controller.abort(e));
  try {
    await pipeline([
      Readable.from(chunkRecords(run)()),
      Duplex.from(submitChunks(run)),
      Duplex.from(trackFolios(run)),
      new Transform({ objectMode: true, transform: (c, _e, done) => done(null, c) }),
      Duplex.from(downloadParts(run)),
      Duplex.from(mergeResults(run, (c) => refetchParts(run, c))),
      sink,
    ], options.passSignal ? { signal: run.signal } : {});
  } finally {
    run.controller.abort();
    await run.close();
  }
}
const race = async (p: Promise<unknown>) => { const t = Date.now(); const r = await Promise.race([p.then(() => 'ok', (e) => e), new Promise((r) => setTimeout(r, 5000, 'HANG'))]); console.log(String((r as any)?.stack ?? r).slice(0, 300), Date.now() - t); return r; };

for (const passSignal of [false, true]) {
it(`abort passSignal=${passSignal}`, async () => {
  await withJob({ behaviour: { finishedAtPoll: () => Infinity } }, async (job) => {
    const c = new AbortController();
    const p = chain(job, { signal: c.signal, passSignal }, { poll: { first: '1m', max: '5m' } });
    p.catch(() => 0);
    await expect.poll(() => job.service.count('track'), { interval: 5, timeout: 20000 }).toBe(4);
    c.abort(new Error('stop now'));
    await race(p);
  });
});
for (const wire of [false, true]) it(`sink fails wire=${wire} passSignal=${passSignal}`, async () => {
  await withJob({ behaviour: { finishedAtPoll: ({ chunk }) => (chunk > 4 ? Infinity : 1) } }, async (job) => {
    await race(chain(job, { wire, passSignal, load: (n) => { if (n === 2) throw new Error('full'); } }, { poll: { first: '1m', max: '5m' } }));
  });
});
it(`stage fails passSignal=${passSignal}`, async () => {
  await withJob({ behaviour: { finishedAtPoll: () => Infinity, trouble: ({ operation, chunk }) => operation === 'upload' && chunk === 4 ? { kind: 'answer', status: 402 } : undefined } }, async (job) => {
    await race(chain(job, { passSignal }, { poll: { first: '1m', max: '5m' } }));
  });
});
}
