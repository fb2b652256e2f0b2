/**
 * Progress of a run, read from the checkpoint (the run does not know that it is watched): one line that is
 * rewritten on a terminal; elsewhere a line when something changed, and at least one a minute.
 */
import type { CheckpointReader, Logger, Run, Tally } from '../../pipelines/index.js';
import { formatBytes, formatCount, formatDuration } from '../quantities.js';
import { writeJson } from './output.js';
import type { Terminal } from './terminal.js';

export interface ProgressOptions {
  readonly json: boolean;
  readonly logger: Logger;
  readonly terminal: Terminal;
  readonly open: () => Promise<(CheckpointReader & { close(): Promise<void> }) | undefined>;
  readonly pace?: ProgressPace;
}

/** Milliseconds between two looks, between two lines where something changed, and at most between any two. */
export interface ProgressPace {
  readonly lookEvery: number;
  readonly changeEvery: number;
  readonly repeatEvery: number;
}

export interface Progress {
  readonly onScan: (progress: { readonly bytes: number; readonly records: number }) => void;
  readonly onRun: (run: string) => void;
  close(): Promise<void>;
}

const usualPace: ProgressPace = { lookEvery: 500, changeEvery: 2_000, repeatEvery: 60_000 };

export function openProgress(options: ProgressOptions): Progress {
  const { lookEvery, changeEvery, repeatEvery } = options.pace ?? usualPace;
  const { terminal } = options;
  const rate = createRate();
  let reader: (CheckpointReader & { close(): Promise<void> }) | undefined;
  let run: string | undefined;
  let lastState = '';
  let lastTold = performance.now();
  let pending = Promise.resolve();

  const tell = (state: string, text: string, fields: object) => {
    terminal.status(text);
    const now = performance.now();
    const changed = state !== lastState && now - lastTold >= changeEvery;
    if (!changed && now - lastTold < repeatEvery) return;
    lastState = state;
    lastTold = now;
    if (options.json) writeJson('progress', { run, ...fields });
    if (!terminal.hasStatus) options.logger.info({ type: 'progress', run, ...fields }, text);
  };
  const look = async () => {
    if (run === undefined) return;
    reader ??= await options.open();
    const row = await reader?.run(run);
    if (reader === undefined || row === undefined) return;
    const tally = await reader.tally(run);
    const text = progressText(row, tally, rate(settled(tally), performance.now()));
    tell(JSON.stringify(tally), text, progressFields(row, tally));
  };
  const timer = setInterval(() => {
    // A look that fails is only a line that is not shown; the run itself will meet the same trouble and say it.
    pending = pending.then(look).catch(() => undefined);
  }, lookEvery);
  timer.unref();

  return {
    onScan: ({ bytes, records }) => terminal.status(scanText(bytes, records)),
    onRun: (id) => {
      run = id;
    },
    close: async () => {
      clearInterval(timer);
      await pending;
      terminal.status('');
      await reader?.close();
      reader = undefined;
      run = undefined;
    },
  };
}

function settled(tally: Tally): number {
  return tally.records.downloaded + tally.records.unprocessed + tally.records.refused;
}

function progressFields(run: Run, tally: Tally): object {
  return {
    records: run.source.records - run.source.rejected,
    chunks: run.chunks,
    byState: tally.chunks,
    merged: tally.merged,
  };
}

// Progress in one line: pure, from the checkpoint's rows.

/** Records a second, smoothed over the looks so far. */
export type Rate = (records: number, at: number) => number | null;

/** Measures from the first look on, so that what an earlier process did does not count. */
export function createRate(): Rate {
  let first: { records: number; at: number } | undefined;
  return (records, at) => {
    first ??= { records, at };
    const seconds = (at - first.at) / 1000;
    return seconds < 1 || records === first.records ? null : (records - first.records) / seconds;
  };
}

export function scanText(bytes: number, records: number): string {
  return `checking the source: ${formatCount(records)} records, ${formatBytes(bytes)}`;
}

export function progressText(run: Run, tally: Tally, rate: number | null): string {
  const { records, rejected } = run.source;
  const cut = Object.values(tally.records).reduce((sum, count) => sum + count, 0) - tally.records.split;
  // Failed records go out again: more are sent then than the source has.
  const all = cut > records ? cut : records - rejected;
  const done = tally.records.downloaded + tally.records.unprocessed + tally.records.refused;
  const { chunks } = tally;
  const states = [
    ...(chunks.cut > 0 ? [`${chunks.cut} cut`] : []),
    ...(chunks.uploading > 0 ? [`${chunks.uploading} uploading`] : []),
    ...(chunks.ambiguous > 0 ? [`${chunks.ambiguous} ambiguous`] : []),
    `${chunks.submitted} open folios`,
    ...(chunks.finished > 0 ? [`${chunks.finished} finished`] : []),
    `${chunks.downloaded} downloaded`,
    ...(chunks.unprocessed > 0 ? [`${chunks.unprocessed} unprocessed`] : []),
    ...(chunks.refused > 0 ? [`${chunks.refused} refused`] : []),
    `${tally.merged.chunks} merged`,
  ];
  const eta =
    rate === null
      ? ''
      : `, ${formatCount(Math.round(rate))}/s, ${formatDuration((1000 * (all - done)) / rate)} left`;
  const total = run.chunks === null ? '' : ` of ${run.chunks}`;
  return `${formatCount(done)} of ${formatCount(all)} records${eta}; chunks${total}: ${states.join(', ')}`;
}
