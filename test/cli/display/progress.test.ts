/** Which events reach the log, the terminal and stdout, and when. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openProgress } from '../../../src/cli/display/progress.js';
import { stdout } from '../../../src/cli/output.js';
import { silentLogger } from '../../../src/logger.js';
import { someSnapshot } from '../../helpers/progress/some-snapshot.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

function open(json = false) {
  const lines: string[] = [];
  const blocks: (readonly string[])[] = [];
  const progress = openProgress({
    json,
    logger: { ...silentLogger, info: (_: object, text: string) => void lines.push(text) },
    terminal: { width: 79, show: (block) => void blocks.push(block) },
  });
  const tell = (downloaded: number) =>
    progress.onProgress({ type: 'progress', ...someSnapshot(Date.now(), { byState: { downloaded } }) });
  return { progress, lines, blocks, tell };
}

it('logs a line with pipeline and run when something changed, ever more seldom, and one a minute', () => {
  const { progress, lines, tell } = open();
  tell(1);
  vi.advanceTimersByTime(1_000);
  expect(lines).toEqual([]);
  vi.advanceTimersByTime(1_000);
  const first =
    'nightly 20261123T025000-4f9c1a: 0 of 60 records; chunks: 0 open folios, 1 downloaded, 0 merged';
  expect(lines).toEqual([first]);
  vi.advanceTimersByTime(59_000);
  expect(lines).toEqual([first]);
  vi.advanceTimersByTime(1_000);
  expect(lines).toEqual([first, first]);
  tell(2);
  vi.advanceTimersByTime(5_000);
  expect(lines).toHaveLength(2);
  vi.advanceTimersByTime(2_000);
  expect(lines.at(-1)).toMatch(/2 downloaded/);
  progress.close();
  vi.advanceTimersByTime(600_000);
  expect(lines).toHaveLength(3);
});

it('logs what comes before the run, and shows it each time; then it shows a block', () => {
  const { progress, lines, blocks, tell } = open();
  for (const bytes of [1024, 2048, 3072]) {
    progress.onProgress({ type: 'copy', bytes });
    vi.advanceTimersByTime(1_000);
  }
  expect(blocks).toEqual([['1 KB'], ['2 KB'], ['3 KB']].map(([size]) => [`copying the source: ${size}`]));
  expect(lines).toEqual(['copying the source: 2 KB']);
  tell(1);
  // A snapshot names the waits itself.
  progress.onProgress({ type: 'waiting', on: 'throttle', since: 0, until: 1, why: '429' });
  vi.advanceTimersByTime(1_000);
  expect(blocks.at(-1)![0]).toBe('nightly, sending, run 20261123T025000-4f9c1a, begun 20m ago');
  expect(progress.last()).toMatchObject({ byState: { downloaded: 1 } });
  progress.close();
  expect(blocks.at(-1)).toEqual([]);
});

it('logs no check of the source that has ended', () => {
  const { progress, lines, blocks } = open();
  progress.onProgress({ type: 'scan', bytes: 1, records: 1 });
  progress.onProgress({ type: 'scan', bytes: 2, records: 2, ended: true });
  progress.onProgress({ type: 'run', run: 'R', pipeline: 'nightly', found: 'new' });
  vi.advanceTimersByTime(5_000);
  expect(lines).toEqual([]);
  expect(blocks.at(-1)).toEqual(['the source is checked: 2 records (5s)']);
  progress.close();
});

it('prints only snapshots as JSON', () => {
  const written = vi.spyOn(stdout, 'write').mockReturnValue(undefined);
  const { progress, tell } = open(true);
  progress.onProgress({ type: 'scan', bytes: 1, records: 1 });
  vi.advanceTimersByTime(3_000);
  expect(written).not.toHaveBeenCalled();
  tell(1);
  vi.advanceTimersByTime(3_000);
  expect(JSON.parse(written.mock.calls[0]![0])).toMatchObject({
    type: 'progress',
    pipeline: 'nightly',
    rate: null,
  });
  progress.close();
  written.mockRestore();
});

it('after the publication it shows what it waits for, and for how long', () => {
  const { progress, lines, blocks, tell } = open();
  tell(1);
  vi.advanceTimersByTime(1_000);
  const published = { run: 'R', pipeline: 'nightly', publication: 3, path: 'o.csv', records: 1, bytes: 1 };
  progress.onProgress({ type: 'published', ...published });
  expect(blocks.at(-1)).toEqual(['publication 3 is in place; ending run R']);
  tell(2);
  vi.advanceTimersByTime(2_000);
  expect(blocks.at(-1)).toEqual(['publication 3 is in place; ending run R (2s)']);
  progress.showStep('reporting how the run ended: report.webhook');
  vi.advanceTimersByTime(3_000);
  expect(blocks.at(-1)).toEqual(['reporting how the run ended: report.webhook (3s)']);
  expect(lines).toEqual([]);
  progress.close();
  expect(blocks.at(-1)).toEqual([]);
});
