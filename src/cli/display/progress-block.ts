/** The block that a terminal shows while a job works. Pure: makes lines of an event, the time and a width. */
import type { JobEvent, ProgressSnapshot, Wait } from '../../../pipelines/index.js';
import { countOf, formatBytes, formatCount, formatDuration, formatShare } from '../../quantities.js';
import { escapeUnprintable, presentTexts } from '../../text.js';
import { cellsOf, cutToCells, firstCells } from './terminal.js';

/** The events that the block shows. */
export type Shown = Extract<JobEvent, { readonly type: 'waiting' | 'copy' | 'scan' | 'progress' | 'load' }>;

/**
 * @param now epoch milliseconds.
 * @param width no line takes more cells.
 */
export function progressBlock(shown: Shown, now: number, width: number): readonly string[] {
  const lines = shown.type === 'progress' ? runLines(shown, now, width) : [eventText(shown, now)];
  return lines.map((line) => fitLine(escapeUnprintable(line), width));
}

/**
 * Fits a line: paths and addresses lose their middle first, because the other words say what is going on. Nobody copies
 * from the block, which is rewritten every second.
 */
function fitLine(line: string, width: number): string {
  const words = line.split(' ');
  let over = cellsOf(line) - width;
  for (const [at, word] of words.entries()) {
    if (over <= 0) break;
    if (!word.includes('/')) continue;
    const short = withoutMiddle(word, Math.max(cellsOf(word) - over, SHORTEST_PATH));
    over -= cellsOf(word) - cellsOf(short);
    words[at] = short;
  }
  return cutToCells(words.join(' '), width);
}

const SHORTEST_PATH = 12;
const GAP = '...';

/** The beginning and the end of a word. The end gets more room, because it says more. */
function withoutMiddle(word: string, cells: number): string {
  if (cellsOf(word) <= cells) return word;
  const room = cells - GAP.length;
  const begin = firstCells([...word], Math.floor(room / 3));
  const end = firstCells([...word].reverse(), room - Math.floor(room / 3)).reverse();
  return `${begin.join('')}${GAP}${end.join('')}`;
}

/** An event in one line, without the run. */
export function eventText(shown: Exclude<Shown, { readonly type: 'progress' }>, now: number): string {
  switch (shown.type) {
    case 'copy':
      return `copying the source: ${formatBytes(shown.bytes)}`;
    case 'scan':
      return `checking the source: ${countOf(shown.records, 'record')}, ${formatBytes(shown.bytes)}`;
    case 'waiting':
      return waitText(shown, now);
    case 'load': {
      const what = shown.state === 'begun' ? 'is being loaded into' : `is ${shown.state}:`;
      return `publication ${shown.publication} ${what} ${shown.table}`;
    }
  }
}

/** Such as `the service asks to wait, 12s left: the service answered 429`. */
export function waitText(wait: Wait, now: number): string {
  const left = wait.until === null ? '' : `, ${seconds(wait.until - now)} left`;
  const since = seconds(now - wait.since);
  switch (wait.on) {
    case 'lock':
      return `waiting for the lock for ${since}${left}: ${wait.why}`;
    case 'throttle':
      return `the service asks to wait${left}: ${wait.why}`;
    case 'outage':
      return `outage for ${since}, given up in ${seconds(wait.until - now)}: ${wait.why}`;
  }
}

/** A duration in whole seconds. */
function seconds(time: number): string {
  return formatDuration(1000 * Math.max(Math.ceil(time / 1000), 0));
}

/** Whether a wait is worth showing: most failed requests succeed at the next attempt. */
export function isOfNote(wait: Wait, now: number): boolean {
  return wait.on !== 'outage' || now - wait.since >= 3_000;
}

function runLines(shown: ProgressSnapshot, now: number, width: number): readonly string[] {
  const { pipeline, run, createdAt, folios, failed } = shown;
  const list = (parts: readonly string[]) => fitParts(parts, ', ', width, ': ');
  const begun = `begun ${seconds(now - createdAt)} ago`;
  return presentTexts([
    fitParts([pipeline, stepText(shown), `run ${run}`, begun], ', ', width),
    barLine(shown, now, width),
    list([chunksText(shown), ...statesOf(shown)]),
    folios.oldest.length !== 0 && list(folioTexts(shown, now)),
    failed.records !== 0 && failedText(shown),
    failed.reasons.length !== 0 && list(reasonTexts(shown)),
    ...shown.waits.filter((wait) => isOfNote(wait, now)).map((wait) => waitText(wait, now)),
  ]);
}

/** What the run does now. */
function stepText(shown: ProgressSnapshot): string {
  const { state, answered, merged, records, chunks, byState } = shown;
  if (state === 'publishing') return 'putting the output in place';
  if (state !== 'open') return state;
  const isAllSent = chunks !== null && byState.cut + byState.uploading + byState.ambiguous === 0;
  if (answered < recordsToAnswer(shown)) return isAllSent ? 'waiting for answers' : 'sending';
  return merged.records < records ? 'writing rows' : 'finishing the output';
}

/** Records to send; a record that is sent again counts again. */
export function recordsToAnswer({ toSend, sentAgain }: ProgressSnapshot): number {
  return toSend + sentAgain;
}

function barLine(shown: ProgressSnapshot, now: number, width: number): string {
  const all = recordsToAnswer(shown);
  const [done, total, what] =
    all > 0 ? [shown.answered, all, 'records'] : [shown.merged.records, shown.records, 'rows'];
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const percent = `${Math.floor(100 * share)}%`;
  const parts = [percent, `${formatCount(done)} of ${formatCount(total)} ${what}`, ...paceTexts(shown, now)];
  const text = fitParts(parts, '  ', width);
  const room = Math.min(width - cellsOf(text) - 3, longestBar);
  if (room < shortestBar) return text;
  const filled = Math.floor(room * share);
  return `[${'#'.repeat(filled)}${'-'.repeat(room - filled)}] ${text}`;
}

const [shortestBar, longestBar] = [5, 40];

/** Rate and time left, if they are known. */
export function paceTexts({ rate, etaMs, at }: ProgressSnapshot, now: number): readonly string[] {
  if (rate === null || etaMs === null || etaMs === 0) return [];
  const speed = rate < 10 ? rate.toFixed(1) : formatCount(Math.round(rate));
  return [`${speed}/s`, `${formatDuration(Math.max(etaMs - (now - at), 1000))} left`];
}

function chunksText({ chunks, byState }: ProgressSnapshot): string {
  const done = byState.downloaded + byState.unprocessed + byState.refused;
  return chunks === null
    ? `${countOf(done, 'chunk')} done`
    : `${formatCount(done)} of ${countOf(chunks, 'chunk')} done`;
}

function statesOf({ byState: inState, merged, chunks }: ProgressSnapshot): readonly string[] {
  const states: readonly (readonly [number, string])[] = [
    [inState.cut, 'cut'],
    [inState.uploading, 'uploading'],
    [inState.ambiguous, 'ambiguous'],
    [inState.submitted, 'open'],
    [inState.finished, 'downloading'],
    [inState.unprocessed, 'unprocessed'],
    [inState.refused, 'refused'],
    [chunks === 0 ? 0 : merged.chunks, 'written'],
  ];
  return states.filter(([count]) => count > 0).map(([count, state]) => `${formatCount(count)} ${state}`);
}

function folioTexts({ folios, at }: ProgressSnapshot, now: number): readonly string[] {
  const oldest = folios.oldest.map(({ chunk, percentage, ageMs }) => {
    const share = percentage === null ? '' : ` ${Math.floor(percentage)}%,`;
    return `chunk ${chunk}${share} open for ${seconds(ageMs + now - at)}`;
  });
  const more = folios.open - oldest.length;
  const rest = more > 0 ? [`${formatCount(more)} more`] : [];
  const admitted = folios.admitted === null ? '' : ` (the service admits ${formatCount(folios.admitted)})`;
  return [`${countOf(folios.open, 'open folio')}${admitted}`, ...oldest, ...rest];
}

/** Such as `12 of 4,000 answered records failed (0.3%)`. */
export function failedText({ failed }: Pick<ProgressSnapshot, 'failed'>): string {
  const { records, of } = failed;
  return `${formatCount(records)} of ${countOf(of, 'answered record')} failed (${formatShare(records, of)})`;
}

/** Only written rows have reasons, and a slow chunk holds back its rows and those of all later chunks. */
function reasonTexts({ failed: { reasons }, merged }: ProgressSnapshot): readonly string[] {
  return [
    `reasons in ${countOf(merged.records, 'row')}`,
    ...reasons.map(({ code, reason, records }) => `${formatCount(records)} ${reason || code}`),
  ];
}

/**
 * Joins as many of the first parts as fit. The first one may be cut.
 * @param afterFirst what separates the first one from the others.
 */
function fitParts(
  parts: readonly string[],
  separator: string,
  width: number,
  afterFirst = separator,
): string {
  const [first = '', ...others] = parts.map((part) => escapeUnprintable(part));
  let line = cutToCells(first, width);
  let between = afterFirst;
  for (const part of others) {
    if (cellsOf(line) + cellsOf(between) + cellsOf(part) > width) break;
    line += between + part;
    between = separator;
  }
  return line;
}
