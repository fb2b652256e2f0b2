/** Progress without a terminal, as in a log file, read from a checkpoint that changes meanwhile. */
import { describe, expect, it, vi } from 'vitest';
import type { Checkpoint } from '../../src/checkpoint/checkpoint.js';
import {
  createRate,
  openProgress,
  type ProgressPace,
  progressText,
  scanText,
} from '../../src/cli/progress.js';
import { silentLogger } from '../../src/logger.js';
import { addChunk } from '../helpers/checkpoint/advance-chunk.js';
import { sampleChoice, sampleRun } from '../helpers/checkpoint/samples.js';
import { createMemoryCheckpoint } from '../helpers/memory/memory-checkpoint.js';

const hour = 3_600_000;
const terminal = { hasStatus: false, write: () => undefined, status: () => undefined };

describe('openProgress', () => {
  it('logs a line when something changed, and none when a read finds the same', async () => {
    const { checkpoint, lines, reads, close } = await watch({
      readEvery: 1,
      changeEvery: 0,
      repeatEvery: hour,
    });
    await vi.waitFor(() => expect(lines).toHaveLength(1));
    const before = reads();
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(before + 5));
    expect(lines).toEqual(['0 of 29 records; chunks: 0 open folios, 0 downloaded, 0 merged']);
    await addChunk(checkpoint, 'r1', 1, 'submitted');
    await vi.waitFor(() => expect(lines.at(-1)).toMatch(/chunks: 1 open folio/));
    await close();
    const shown = lines.length;
    await addChunk(checkpoint, 'r1', 2, 'submitted');
    expect(lines).toHaveLength(shown);
  });

  it('does not log every change', async () => {
    const { checkpoint, lines, reads, close } = await watch({
      readEvery: 1,
      changeEvery: hour,
      repeatEvery: hour,
    });
    await addChunk(checkpoint, 'r1', 1, 'submitted');
    const before = reads();
    await vi.waitFor(() => expect(reads()).toBeGreaterThan(before + 3));
    await close();
    expect(lines).toEqual([]);
  });

  it('repeats the line during a long wait', async () => {
    const { lines, close } = await watch({ readEvery: 1, changeEvery: hour, repeatEvery: 3 });
    await vi.waitFor(() => expect(lines.length).toBeGreaterThan(3));
    await close();
    expect(new Set(lines).size).toBe(1);
  });

  it('logs at times how much of the source is copied, and shows it each time', async () => {
    const lines: string[] = [];
    const shown: string[] = [];
    const progress = openProgress({
      json: false,
      logger: { ...silentLogger, info: (_: object, text: string) => void lines.push(text) },
      terminal: { ...terminal, status: (text) => void shown.push(text) },
      open: async () => undefined,
      pace: { readEvery: hour, changeEvery: 0, repeatEvery: hour },
    });
    for (const bytes of [1024, 2048, 3072]) progress.onCopy({ bytes });
    await progress.close();
    expect(lines).toEqual(['copying the source: 1 KB']);
    expect(shown).toEqual([1, 2, 3].map((kb) => `copying the source: ${kb} KB`).concat(''));
  });

  it('logs nothing before the run is known, and ignores a checkpoint that cannot be read', async () => {
    const lines: string[] = [];
    const open = vi.fn(() => Promise.reject(new Error('busy')));
    const logger = { ...silentLogger, info: (_: object, text: string) => void lines.push(text) };
    const progress = openProgress({
      json: false,
      logger,
      terminal,
      open,
      pace: { readEvery: 1, changeEvery: 0, repeatEvery: 1 },
    });
    progress.onScan({ bytes: 1, records: 1 });
    progress.onRun('r1');
    await vi.waitFor(() => expect(open.mock.calls.length).toBeGreaterThan(2));
    await progress.close();
    expect(lines).toEqual([]);
  });
});

describe('progressText', () => {
  it('shows the states of the chunks, and the time left at the rate so far', async () => {
    const checkpoint = createMemoryCheckpoint();
    const { source } = sampleRun('r1');
    await checkpoint.recordRun(sampleRun('r1', { source: { ...source, records: source.records + 1 } }));
    await addChunk(checkpoint, 'r1', 1, 'downloaded');
    await addChunk(checkpoint, 'r1', 2, 'ambiguous');
    await addChunk(checkpoint, 'r1', 3, 'submitted');
    const text = async (rate: number | null) =>
      progressText((await checkpoint.run('r1'))!, await checkpoint.tally('r1'), rate);
    const states = '1 ambiguous, 1 open folio, 1 downloaded, 0 merged';
    expect(await text(null)).toBe(`10 of 30 records; chunks: ${states}`);
    await checkpoint.recordAllCut('r1');
    expect(await text(2)).toBe(`10 of 30 records, 2/s, 10s left; chunks of 3: ${states}`);
  });

  it('of a run with known answers is about what is sent, and about the rows', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1', { choice: { ...sampleChoice, sent: 19 } }));
    await addChunk(checkpoint, 'r1', 1, 'downloaded');
    const text = async (id: string) =>
      progressText((await checkpoint.run(id))!, await checkpoint.tally(id), 3);
    expect(await text('r1')).toBe(
      '10 of 19 records to send, 3/s, 3s left; chunks: 0 open folios, 1 downloaded, 0 merged; 0 of 29 rows written',
    );
    await checkpoint.recordSuperseded('r1', 1);
    await checkpoint.recordRun(sampleRun('r2', { choice: { ...sampleChoice, sent: 0 } }));
    expect(await text('r2')).toBe('nothing to send; 0 of 29 rows written');
  });

  it('tells records that are sent again apart', async () => {
    const checkpoint = createMemoryCheckpoint();
    await checkpoint.recordRun(sampleRun('r1', { choice: { ...sampleChoice, sent: 19 } }));
    for (const number of [1, 2, 3]) await addChunk(checkpoint, 'r1', number, 'downloaded');
    const text = progressText((await checkpoint.run('r1'))!, await checkpoint.tally('r1'), null);
    expect(text).toMatch(/^30 of 30 records to send \(11 sent again\); chunks: 0 open folios, 3 downloaded/);
  });

  it('shows the check of the source', () => {
    expect(scanText(2048, 12_345)).toBe('checking the source: 12,345 records, 2 KB');
  });
});

describe('createRate', () => {
  it('measures from the first call on, and gives none before something was done', () => {
    const rate = createRate();
    expect(rate(500, 10_000)).toBeNull();
    expect(rate(600, 10_500)).toBeNull();
    expect(rate(500, 20_000)).toBeNull();
    expect(rate(700, 20_000)).toBe(20);
    expect(rate(300, 21_000)).toBeNull();
    expect(rate(400, 23_000)).toBe(50);
  });
});

async function watch(pace: ProgressPace) {
  const checkpoint: Checkpoint = createMemoryCheckpoint();
  await checkpoint.recordRun(sampleRun('r1'));
  const tally = vi.spyOn(checkpoint, 'tally');
  const lines: string[] = [];
  const logger = { ...silentLogger, info: (_: object, text: string) => void lines.push(text) };
  const progress = openProgress({ json: false, logger, terminal, open: async () => checkpoint, pace });
  progress.onRun('r1');
  return { checkpoint, lines, reads: () => tally.mock.calls.length, close: () => progress.close() };
}
