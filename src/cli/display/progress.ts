/**
 * Shows the events of a job. On a terminal, rewrites a block of lines; in the log, writes a line when something changed,
 * and at least once a minute.
 */
import type { JobEvent, Logger, OnProgress, ProgressSnapshot } from '../../../pipelines/index.js';
import { countOf, formatCount, formatDuration } from '../../quantities.js';
import { presentTexts } from '../../text.js';
import { writeJson } from '../output.js';
import {
  eventText,
  failedText,
  isOfNote,
  paceTexts,
  progressBlock,
  recordsToAnswer,
  type Shown,
  waitText,
} from './progress-block.js';
import type { Terminal } from './terminal.js';

interface ProgressOptions {
  readonly json: boolean;
  readonly logger: Logger;
  readonly terminal: Pick<Terminal, 'width' | 'show'>;
  readonly pace?: ProgressPace;
}

/** Times in milliseconds. */
interface ProgressPace {
  /** Time between two updates. */
  readonly lookEvery: number;
  /** The shortest time between two lines of the log, if something changed. It grows to a tenth of the time so far. */
  readonly changeEvery: number;
  /** The longest time between two lines. */
  readonly repeatEvery: number;
}

export interface Progress {
  readonly onProgress: OnProgress;
  /** Shows what the command does after its run has ended. */
  showStep(text: string): void;
  /** The last known state of the run; undefined before it is known. */
  last(): ProgressSnapshot | undefined;
  /** Removes the block. */
  close(): void;
}

const usualPace: ProgressPace = { lookEvery: 1_000, changeEvery: 2_000, repeatEvery: 60_000 };

export function openProgress({ json, logger, terminal, pace = usualPace }: ProgressOptions): Progress {
  const { lookEvery, changeEvery, repeatEvery } = pace;
  const beganAt = performance.now();
  let shown: Shown | undefined;
  let step: { readonly text: string; readonly since: number } | undefined;
  let last: ProgressSnapshot | undefined;
  let loggedState = '';
  let loggedAt = beganAt;

  const showStep = (text: string) => {
    step = { text, since: performance.now() };
    terminal.show([text]);
  };
  const look = () => {
    if (shown === undefined) {
      if (step !== undefined) {
        const time = formatDuration(1000 * Math.floor((performance.now() - step.since) / 1000));
        terminal.show([`${step.text} (${time})`]);
      }
      return;
    }
    terminal.show(progressBlock(shown, Date.now(), terminal.width));
    const now = performance.now();
    const state = stateOf(shown);
    const wait = Math.min(Math.max((now - beganAt) / 10, changeEvery), repeatEvery);
    if (now - loggedAt < (state === loggedState ? repeatEvery : wait)) return;
    loggedState = state;
    loggedAt = now;
    // Programs get only the state of a run, and not what comes before it.
    if (json && shown.type === 'progress') writeJson('progress', shown);
    logger.info({ ...shown, type: 'progress' }, logText(shown, Date.now()));
  };
  const timer = setInterval(look, lookEvery);
  timer.unref();

  let isPublished = false;
  return {
    onProgress: (event) => {
      if (event.type === 'progress') last = event;
      if (event.type === 'run') isPublished = false;
      if (event.type === 'scan' && event.ended)
        showStep(`the source is checked: ${countOf(event.records, 'record')}`);
      if (event.type === 'published') {
        isPublished = true;
        showStep(`publication ${event.publication} is in place; ending run ${event.run}`);
      }
      // After the publication, an older snapshot would contradict what is shown.
      if (!(isPublished && event.type === 'progress')) shown = nextShown(shown, event);
    },
    showStep: (text) => {
      shown = undefined;
      showStep(text);
    },
    last: () => last,
    close: () => {
      clearInterval(timer);
      shown = undefined;
      step = undefined;
      terminal.show([]);
    },
  };
}

/** A wait does not replace a snapshot, which holds it too. A snapshot does not replace a load, a job's last step. */
function nextShown(before: Shown | undefined, event: JobEvent): Shown | undefined {
  if (event.type === 'published') return undefined;
  if (event.type === 'run') return before;
  if (event.type === 'scan' && event.ended) return undefined;
  if (event.type === 'waiting' && before?.type === 'progress') return before;
  if (event.type === 'progress' && before?.type === 'load' && before.state === 'begun') return before;
  return event;
}

/** Changes when there is something new to log. */
export function stateOf(shown: Shown): string {
  if (shown.type !== 'progress') return shown.type;
  const { run, state, byState, merged, waits } = shown;
  return JSON.stringify([run, state, byState, merged, waits.map(({ on }) => on)]);
}

function logText(shown: Shown, now: number): string {
  if (shown.type === 'load') return `${shown.pipeline} ${shown.run}: ${eventText(shown, now)}`;
  if (shown.type !== 'progress') return eventText(shown, now);
  const waits = shown.waits.filter((wait) => isOfNote(wait, now)).map((wait) => `; ${waitText(wait, now)}`);
  return `${shown.pipeline} ${shown.run}: ${progressText(shown, now)}${waits.join('')}`;
}

/** A run's state in one line. */
export function progressText(shown: ProgressSnapshot, now: number): string {
  const { records, toSend, sentAgain, answered, chunks, byState, merged, failed } = shown;
  const all = recordsToAnswer(shown);
  const isWhole = toSend === records;
  const rows = isWhole ? '' : `; ${formatCount(merged.records)} of ${formatCount(records)} rows written`;
  if (all === 0) return `nothing to send${rows}`;
  const oldest = shown.folios.oldest[0];
  const admitted = shown.folios.admitted === null ? '' : `, ${shown.folios.admitted} admitted`;
  const age =
    oldest === undefined ? '' : ` (oldest ${formatDuration(oldest.ageMs + now - shown.at)}${admitted})`;
  const states = presentTexts([
    byState.cut > 0 && `${byState.cut} cut`,
    byState.uploading > 0 && `${byState.uploading} uploading`,
    byState.ambiguous > 0 && `${byState.ambiguous} ambiguous`,
    `${countOf(byState.submitted, 'open folio')}${age}`,
    byState.finished > 0 && `${byState.finished} finished`,
    `${byState.downloaded} downloaded`,
    byState.unprocessed > 0 && `${byState.unprocessed} unprocessed`,
    byState.refused > 0 && `${byState.refused} refused`,
    `${merged.chunks} merged`,
  ]);
  const pace = paceTexts(shown, now).map((text) => `, ${text}`);
  const total = chunks === null ? 'chunks' : `of ${countOf(chunks, 'chunk')}`;
  const what = `${isWhole ? 'records' : 'records to send'}${sentAgain > 0 ? ` (${formatCount(sentAgain)} sent again)` : ''}`;
  const lost = failed.records === 0 ? '' : `; ${failedText(shown)}`;
  return `${formatCount(answered)} of ${formatCount(all)} ${what}${pace.join('')}; ${total}: ${states.join(', ')}${lost}${rows}`;
}
