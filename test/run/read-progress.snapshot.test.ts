import { afterEach, describe, expect, it, vi } from 'vitest';
import { createRate, takeSnapshot, watchRun } from '../../src/run/read-progress.js';
import { addChunk } from '../helpers/checkpoint/advance-chunk.js';
import { sampleChoice, sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

describe('takeSnapshot', () => {
  const none = { percentages: new Map<number, number>(), reasons: [], waits: [], admitted: null, rate: null };

  it('counts what is answered, and shows the oldest open folios with their percentages', async () => {
    const checkpoint = createMemoryCheckpoint();
    const { source } = sampleRun('r1');
    await checkpoint.recordRun(sampleRun('r1', { source: { ...source, records: source.records + 1 } }));
    await addChunk(checkpoint, 'r1', 1, 'downloaded');
    await addChunk(checkpoint, 'r1', 2, 'ambiguous');
    await addChunk(checkpoint, 'r1', 3, 'submitted');
    const open = await checkpoint.chunksIn('r1', ['submitted'], 0, 5);
    const [tally, run] = [await checkpoint.tally('r1'), (await checkpoint.run('r1'))!];
    const ended = await checkpoint.answered('r1');
    const percentages = new Map([[3, 40]]);
    const now = open[0]!.submittedAt! + 5_000;
    const facts = { ...none, run, tally, ended, toSend: 30, open, percentages, rate: 2, now };
    expect(takeSnapshot(facts)).toMatchObject({
      run: 'r1',
      records: 30,
      toSend: 30,
      sentAgain: 0,
      answered: 10,
      etaMs: 10_000,
      failed: { records: 0, of: 10 },
      folios: { open: 1, oldest: [{ chunk: 3, ageMs: 5_000, percentage: 40 }] },
    });
    expect(takeSnapshot({ ...facts, rate: null, now: 0 })).toMatchObject({
      etaMs: null,
      folios: { oldest: [{ ageMs: 0 }] },
    });
  });

  it('tells records that are sent again apart', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1', { choice: { ...sampleChoice, sent: 19 } }));
    for (const number of [1, 2, 3]) await addChunk(checkpoint, 'r1', number, 'downloaded');
    const [tally, run] = [await checkpoint.tally('r1'), (await checkpoint.run('r1'))!];
    const ended = await checkpoint.answered('r1');
    const snapshot = takeSnapshot({ ...none, run, tally, ended, toSend: 19, open: [], rate: 3, now: 0 });
    expect(snapshot).toMatchObject({ toSend: 19, sentAgain: 11, answered: 30, etaMs: 0 });
  });
});

describe('createRate', () => {
  it('measures from the first call on, gives none before something was done, and is never negative', () => {
    const rate = createRate();
    expect(rate(500, 10_000)).toBeNull();
    expect(rate(600, 10_500)).toBeNull();
    expect(rate(500, 20_000)).toBeNull();
    expect(rate(700, 20_000)).toBe(20);
    expect(rate(300, 21_000)).toBeNull();
    expect(rate(400, 23_000)).toBe(50);
  });
});

describe('watchRun', () => {
  afterEach(() => void vi.useRealTimers());

  it('waits twenty times as long as a reading takes, but at least half a second and at most half a minute', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    let takes = 0;
    const tally = async (run: string) => {
      if (takes > 0) await new Promise((resolve) => setTimeout(resolve, takes));
      return checkpoint.tally(run);
    };
    const told: unknown[] = [];
    const sources = { checkpoint: { ...checkpoint, tally }, clock: { now: () => 0 } };
    const watch = watchRun('r1', sources, (event) => void told.push(event));
    const toldAfter = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
      return told;
    };
    expect(await toldAfter(1_000)).toHaveLength(3);
    takes = 100;
    expect(await toldAfter(600)).toHaveLength(4);
    expect(await toldAfter(2_000)).toHaveLength(4);
    expect(await toldAfter(100)).toHaveLength(5);
    takes = 10_000;
    expect(await toldAfter(12_000)).toHaveLength(6);
    takes = 0;
    expect(await toldAfter(29_000)).toHaveLength(6);
    expect(await toldAfter(1_000)).toHaveLength(7);
    await watch.close();
    expect(told).toHaveLength(8);
  });
});
