/**
 * Shows the progress of a run. Reads it from the checkpoint, so that the run needs no code for it. On a terminal,
 * rewrites one line; elsewhere, logs a line when something changed, and at least once a minute.
 */
import {
  type CheckpointReader,
  type Logger,
  type Run,
  recordsToSend,
  type Tally,
} from '../../pipelines/index.js';
import { countOf, formatBytes, formatCount, formatDuration } from '../quantities.js';
import { writeJson } from './output.js';
import type { Terminal } from './terminal.js';

export interface ProgressOptions {
  readonly json: boolean;
  readonly logger: Logger;
  readonly terminal: Terminal;
  readonly open: () => Promise<(CheckpointReader & { close(): Promise<void> }) | undefined>;
  readonly pace?: ProgressPace;
}

/** Times in milliseconds. */
export interface ProgressPace {
  /** Time between two reads of the checkpoint. */
  readonly readEvery: number;
  /** Least time between two lines, if something changed. */
  readonly changeEvery: number;
  /** Most time between two lines. */
  readonly repeatEvery: number;
}

export interface Progress {
  readonly onScan: (progress: { readonly bytes: number; readonly records: number }) => void;
  readonly onCopy: (progress: { readonly bytes: number }) => void;
  readonly onRun: (run: string) => void;
  close(): Promise<void>;
}

const usualPace: ProgressPace = { readEvery: 500, changeEvery: 2_000, repeatEvery: 60_000 };

export function openProgress(options: ProgressOptions): Progress {
  const { readEvery, changeEvery, repeatEvery } = options.pace ?? usualPace;
  const { terminal } = options;
  let rate = createRate();
  let reader: (CheckpointReader & { close(): Promise<void> }) | undefined;
  let run: string | undefined;
  let lastState = '';
  let lastShownAt = performance.now();
  let pending = Promise.resolve();

  const show = (state: string, text: string, fields: object) => {
    terminal.status(text);
    const now = performance.now();
    const changed = state !== lastState && now - lastShownAt >= changeEvery;
    if (!changed && now - lastShownAt < repeatEvery) return;
    lastState = state;
    lastShownAt = now;
    if (options.json && run !== undefined) writeJson('progress', { run, ...fields });
    if (!terminal.hasStatus) options.logger.info({ type: 'progress', run, ...fields }, text);
  };
  const update = async () => {
    if (run === undefined) return;
    reader ??= await options.open();
    const row = await reader?.run(run);
    if (reader === undefined || row === undefined) return;
    const tally = await reader.tally(run);
    const text = progressText(row, tally, rate(recordsDone(tally), performance.now()));
    show(JSON.stringify(tally), text, progressFields(row, tally));
  };
  const timer = setInterval(() => {
    // A failed read only skips a line, because the run gets the same error and reports it.
    pending = pending.then(update).catch(() => undefined);
  }, readEvery);
  timer.unref();

  return {
    onScan: ({ bytes, records }) => terminal.status(scanText(bytes, records)),
    onCopy: ({ bytes }) => show('copying', `copying the source: ${formatBytes(bytes)}`, { bytes }),
    onRun: (id) => {
      if (id !== run) rate = createRate();
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

/** The status line while the source is checked. */
export function scanText(bytes: number, records: number): string {
  return `checking the source: ${countOf(records, 'record')}, ${formatBytes(bytes)}`;
}

/** A run's state in one line. @param rate records a second; null leaves out rate and time left. */
export function progressText(run: Run, tally: Tally, rate: number | null): string {
  const cut = Object.values(tally.records).reduce((sum, count) => sum + count, 0) - tally.records.split;
  // When failed records are sent again, more records are cut than are sent first.
  const all = Math.max(cut, recordsToSend(run));
  const rows = run.choice === null ? '' : `; ${rowsText(run, tally)}`;
  if (all === 0 && run.choice !== null) return `nothing to send${rows}`;
  const done = recordsDone(tally);
  const { chunks } = tally;
  const states = [
    ...(chunks.cut > 0 ? [`${chunks.cut} cut`] : []),
    ...(chunks.uploading > 0 ? [`${chunks.uploading} uploading`] : []),
    ...(chunks.ambiguous > 0 ? [`${chunks.ambiguous} ambiguous`] : []),
    countOf(chunks.submitted, 'open folio'),
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
  const isWhole = recordsToSend(run) === run.source.records - run.source.rejected;
  const again = cut - recordsToSend(run);
  const what = `${isWhole ? 'records' : 'records to send'}${again > 0 ? ` (${formatCount(again)} sent again)` : ''}`;
  return `${formatCount(done)} of ${formatCount(all)} ${what}${eta}; chunks${total}: ${states.join(', ')}${rows}`;
}

/** Rows that take known answers are written without a chunk. */
function rowsText({ source }: Run, { merged }: Tally): string {
  return `${formatCount(merged.records)} of ${formatCount(source.records - source.rejected)} rows written`;
}

/** Records a second, as an average since the first call; null until a record is done. */
export type Rate = (records: number, at: number) => number | null;

/** Measures from the first call on, so that work of an earlier process does not count. */
export function createRate(): Rate {
  let first: { records: number; at: number } | undefined;
  return (records, at) => {
    // Fewer are done when a lost folio is found again.
    if (first === undefined || records < first.records) first = { records, at };
    const seconds = (at - first.at) / 1000;
    return seconds < 1 || records === first.records ? null : (records - first.records) / seconds;
  };
}

function recordsDone(tally: Tally): number {
  return tally.records.downloaded + tally.records.unprocessed + tally.records.refused;
}

function progressFields(run: Run, tally: Tally): object {
  return {
    records: run.source.records - run.source.rejected,
    toSend: recordsToSend(run),
    chunks: run.chunks,
    byState: tally.chunks,
    merged: tally.merged,
  };
}
