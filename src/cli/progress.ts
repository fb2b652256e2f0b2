/**
 * Progress of a run, read from the checkpoint (the run does not know that it is watched): one line that is
 * rewritten on a terminal; elsewhere a line when something changed, and at least one a minute.
 */
import { clearLine, cursorTo } from 'node:readline';
import type { CheckpointReader, Logger, Run, Tally } from '../../pipelines/index.js';
import { writeJson } from './json-lines.js';
import { createRate, progressText, scanText } from './progress-text.js';

export interface ProgressOptions {
  readonly json: boolean;
  readonly logger: Logger;
  readonly open: () => Promise<(CheckpointReader & { close(): Promise<void> }) | undefined>;
}

export interface Progress {
  readonly onScan: (progress: { readonly bytes: number; readonly records: number }) => void;
  readonly onRun: (run: string) => void;
  close(): Promise<void>;
}

export function openProgress(options: ProgressOptions): Progress {
  const line = process.stderr.isTTY && !options.json ? createStatusLine() : undefined;
  const rate = createRate();
  let reader: (CheckpointReader & { close(): Promise<void> }) | undefined;
  let run: string | undefined;
  let lastState = '';
  let lastTold = Date.now();
  let pending = Promise.resolve();

  const tell = (state: string, text: string, fields: object) => {
    line?.show(text);
    const now = Date.now();
    const changed = state !== lastState && now - lastTold >= changeEveryMs;
    if (!changed && now - lastTold < repeatEveryMs) return;
    lastState = state;
    lastTold = now;
    if (options.json) writeJson('progress', { run, ...fields });
    if (line === undefined) options.logger.info({ type: 'progress', run, ...fields }, text);
  };
  const look = async () => {
    if (run === undefined) return;
    reader ??= await options.open();
    const row = await reader?.run(run);
    if (reader === undefined || row === undefined) return;
    const tally = await reader.tally(run);
    const text = progressText(row, tally, rate(settled(tally), Date.now()));
    tell(JSON.stringify(tally), text, progressFields(row, tally));
  };
  const timer = setInterval(() => {
    // A look that fails is only a line that is not shown; the run itself will meet the same trouble and say it.
    pending = pending.then(look).catch(() => undefined);
  }, lookEveryMs);
  timer.unref();

  return {
    onScan: ({ bytes, records }) => line?.show(scanText(bytes, records)),
    onRun: (id) => {
      run = id;
    },
    close: async () => {
      clearInterval(timer);
      await pending;
      line?.clear();
      await reader?.close();
      reader = undefined;
      run = undefined;
    },
  };
}

const lookEveryMs = 500;
const changeEveryMs = 2_000;
const repeatEveryMs = 60_000;

function settled(tally: Tally): number {
  return tally.records.downloaded + tally.records.unprocessed;
}

function progressFields(run: Run, tally: Tally): object {
  return {
    records: run.source.records - run.source.rejected,
    chunks: run.chunks,
    byState: tally.chunks,
    merged: tally.merged,
  };
}

function createStatusLine() {
  const { stderr } = process;
  const clear = () => {
    clearLine(stderr, 0);
    cursorTo(stderr, 0);
  };
  return {
    show: (text: string) => {
      clear();
      stderr.write(text.slice(0, Math.max(stderr.columns - 1, 20)));
    },
    clear,
  };
}
