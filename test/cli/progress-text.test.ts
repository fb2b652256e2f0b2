import { describe, expect, it } from 'vitest';
import { createRate, progressText, scanText } from '../../src/cli/progress.js';
import { addChunk } from '../helpers/checkpoint/advance-chunk.js';
import { sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

describe('progressText', () => {
  it('names the states that chunks are in, and what is left at the rate so far', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1'));
    await addChunk(checkpoint, 'r1', 1, 'downloaded');
    await addChunk(checkpoint, 'r1', 2, 'ambiguous');
    await addChunk(checkpoint, 'r1', 3, 'submitted');
    const text = async (rate: number | null) =>
      progressText((await checkpoint.run('r1'))!, await checkpoint.tally('r1'), rate);
    const states = '1 ambiguous, 1 open folios, 1 downloaded, 0 merged';
    expect(await text(null)).toBe(`10 of 29 records; chunks: ${states}`);
    await checkpoint.recordAllCut('r1');
    expect(await text(2)).toBe(`10 of 29 records, 2/s, 10s left; chunks of 3: ${states}`);
  });

  it('tells of the check', () => {
    expect(scanText(2048, 12_345)).toBe('checking the source: 12,345 records, 2 KB');
  });
});

describe('createRate', () => {
  it('measures from the first look on, and gives none before something was done', () => {
    const rate = createRate();
    expect(rate(500, 10_000)).toBeNull();
    expect(rate(600, 10_500)).toBeNull();
    expect(rate(500, 20_000)).toBeNull();
    expect(rate(700, 20_000)).toBe(20);
  });
});
