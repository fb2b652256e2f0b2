/** The figures of the answers: why records failed, which codes were given, and with what confidence. */
import * as Plot from '@observablehq/plot';
import type { ConfidenceCount, Night } from '../checkpoint/checkpoint.js';
import { withoutReasonText } from '../failure-reasons.js';
import { countOf, formatCount, formatDecimals, formatShare } from '../quantities.js';
import type { RunReport } from '../report/run-report.js';
import { median, shareOf } from '../report/unusual.js';
import { presentTexts } from '../text.js';
import type { Figure } from './draw.js';
import { tableOf } from './html.js';
import { fitText, percent } from './words.js';

const MAX_ROWS = 15;

interface LabelledBar {
  readonly label: string;
  readonly value: number;
  readonly note: string;
  /** A mark beside the end of the bar. */
  readonly before?: number | undefined;
}

/** Bars with their texts above them, so that there is room for long texts on a phone too. */
function labelledBars(rows: readonly LabelledBar[], color: string): (width: number) => Plot.PlotOptions {
  return (width) => {
    const bars = rows.map(({ label, note, ...rest }, at) => {
      const room = Math.floor((width - 10) / 7) - note.length - 2;
      return {
        ...rest,
        at,
        note,
        label: fitText(label, Math.max(room, 12)),
        title: `${fitText(label, 200)}: ${note}`,
      };
    });
    const marked = bars.filter(({ before }) => before !== undefined);
    return {
      height: rows.length * 36 + 10,
      marginLeft: 2,
      marginRight: 2,
      marginTop: 4,
      marginBottom: 4,
      x: {
        axis: null,
        domain: [0, Math.max(...rows.map(({ value, before = 0 }) => Math.max(value, before)), 1e-9)],
      },
      y: { axis: null, type: 'band', domain: bars.map(({ at }) => at), padding: 0 },
      marks: [
        Plot.barX(bars, { x: 'value', y: 'at', fill: color, insetTop: 18, insetBottom: 6, title: 'title' }),
        Plot.tickX(marked, {
          x: 'before',
          y: 'at',
          stroke: 'var(--text)',
          strokeWidth: 2.5,
          insetTop: 19,
          insetBottom: 3,
        }),
        Plot.text(bars, { y: 'at', text: 'label', frameAnchor: 'left', textAnchor: 'start', dy: -9 }),
        Plot.text(bars, { y: 'at', text: 'note', frameAnchor: 'right', textAnchor: 'end', dy: -9 }),
      ],
    };
  };
}

/** @returns undefined if nothing has failed. */
export function failuresFigure({ reasons, summary }: RunReport): Figure | undefined {
  const unknown = summary.failedWithoutReason;
  if (reasons.length === 0 && unknown === 0) return undefined;
  const all = reasons.reduce((sum, { records }) => sum + records, unknown);
  const rowOf = (label: string, code: string, records: number) => ({
    label,
    code,
    value: records,
    note: `${formatCount(records)} · ${formatShare(records, all)}`,
  });
  const rows = [
    ...reasons.map(({ code, reason, records }) => {
      const label =
        reason === null ? `other reasons (${code})` : reason === '' ? `no reason given (${code})` : reason;
      return rowOf(label, code, records);
    }),
    ...(unknown === 0 ? [] : [rowOf(withoutReasonText(summary), '', unknown)]),
  ];
  return {
    id: 'failures',
    title: 'Records without a prediction, by reason',
    text: `${failedText(summary)} The bars show how many for each reason, and their share of these records.`,
    draw: labelledBars(rows.slice(0, MAX_ROWS), 'var(--bad)'),
    table: tableOf(
      ['reason', 'code', 'records', 'share'],
      rows.map(({ label, code, value }) => [label, code, formatCount(value), formatShare(value, all)]),
      [2, 3],
    ),
  };
}

/** For an unfinished run, only the rows that are written count. */
function failedText({ counts }: RunReport['summary']): string {
  const { successful, failed, unprocessed } = counts;
  const all = successful + failed + unprocessed;
  const others =
    unprocessed === 0
      ? ''
      : `, and ${formatCount(unprocessed)} ${unprocessed === 1 ? 'is' : 'are'} unprocessed`;
  return `${countOf(failed, 'record')} of ${formatCount(all)} failed (${formatShare(failed, all)})${others}.`;
}

/** @returns undefined if no codes were counted. */
export function codesFigure({ night, before }: RunReport): Figure | undefined {
  const found = night?.predictions;
  if (night === null || found == null || found.codes.length === 0) return undefined;
  const { codes, coded, rest } = found;
  const rows = codes.map(({ code, records, confidence }) => {
    const share = records / coded;
    const usual = usualShare(before, code);
    return {
      label: code,
      value: share,
      before: usual,
      records,
      confidence,
      note: codeNote(share, usual, confidence),
    };
  });
  const [top] = rows;
  const shown = Math.min(rows.length, MAX_ROWS);
  const hidden = rows.length - shown + rest.codes;
  return {
    id: 'codes',
    title: 'Codes',
    text: `How often each ${found.code} was given: the share of ${countOf(coded, 'prediction')}, and the mean confidence. The commonest is ${top!.label} (${percent(top!.value)}).${hidden > 0 ? ` ${formatCount(hidden)} or more others are not drawn.` : ''}${before.length > 0 ? ' The upright mark is the median of the nights before.' : ''}`,
    draw: labelledBars(rows.slice(0, MAX_ROWS), 'var(--bar)'),
    table: tableOf(
      ['code', 'records', 'share', 'usual share', 'mean confidence'],
      [
        ...rows.map(({ label, records, value, before: usual, confidence }) => [
          label,
          formatCount(records),
          percent(value),
          usual === undefined ? '–' : percent(usual),
          confidence === null ? '–' : formatDecimals(confidence),
        ]),
        ...(rest.records > 0
          ? [
              [
                `${formatCount(rest.codes)} others`,
                formatCount(rest.records),
                percent(rest.records / coded),
                '',
                '',
              ],
            ]
          : []),
      ],
      [1, 2, 3, 4],
    ),
  };
}

function codeNote(share: number, usual: number | undefined, confidence: number | null): string {
  const parts = presentTexts([
    percent(share),
    usual !== undefined && `usually ${percent(usual)}`,
    confidence !== null && `conf. ${formatDecimals(confidence)}`,
  ]);
  return parts.join(' · ');
}

function usualShare(before: readonly Night[], code: string): number | undefined {
  const shares = before.flatMap((one) => shareOf(one, code) ?? []);
  return shares.length === 0 ? undefined : median(shares);
}

/** @returns undefined if no confidences were counted. */
export function confidenceFigure({ night, before }: RunReport): Figure | undefined {
  const found = night?.predictions?.confidences;
  if (found == null) return undefined;
  const { bins, scale, mean, min, max, records, unreadable, outside } = found;
  const width = scale / bins.length;
  const usual = usualBins(before, found);
  const bars = bins.map((count, at) => {
    const [x1, x2] = [at * width, (at + 1) * width];
    const span = `${formatDecimals(x1, 2)} to ${formatDecimals(x2, 2)}`;
    return { x1, x2, span, count, share: count / records, title: `${span}: ${formatCount(count)}` };
  });
  const line = usual && [...usual, usual.at(-1)!].map((share, at) => ({ x: at * width, share }));
  const others = presentTexts([
    unreadable > 0 &&
      `${countOf(unreadable, 'value')} ${unreadable === 1 ? 'is not a number' : 'are not numbers'}`,
    outside > 0 && `${formatCount(outside)} ${outside === 1 ? 'is' : 'are'} outside of 0 to ${scale}`,
  ]);
  return {
    id: 'confidence',
    title: 'Confidence',
    text: `${countOf(records, 'prediction')} with a confidence of ${formatDecimals(mean)} on average, from ${formatDecimals(min)} to ${formatDecimals(max)}.${others.length > 0 ? ` ${others.join(', and ')}.` : ''}${line ? ' The line is the median of the nights before.' : ''}`,
    draw: (drawn) => ({
      height: 220,
      marginLeft: 50,
      marginBottom: 44,
      x: { label: 'confidence', labelOffset: 38, ticks: drawn < 500 ? 5 : 10 },
      y: {
        label: 'share of predictions',
        percent: true,
        grid: true,
        ticks: 5,
        tickFormat: (n: number) => `${n}%`,
      },
      marks: [
        Plot.rectY(bars, { x1: 'x1', x2: 'x2', y: 'share', fill: 'var(--bar)', inset: 0.5, title: 'title' }),
        ...(line
          ? [
              Plot.lineY(line, {
                x: 'x',
                y: 'share',
                curve: 'step-after',
                stroke: 'var(--text)',
                strokeWidth: 2,
              }),
            ]
          : []),
        Plot.ruleY([0]),
      ],
    }),
    table: tableOf(
      ['confidence', 'records', 'share', 'usual share'],
      bars.map(({ span, count, share }, at) => [
        span,
        formatCount(count),
        percent(share),
        usual === undefined ? '–' : percent(usual[at]!),
      ]),
      [1, 2, 3],
    ),
  };
}

/** The median share of each bin on the nights before that have the same scale. */
function usualBins(
  before: readonly Night[],
  { scale, bins }: ConfidenceCount,
): readonly number[] | undefined {
  const known = before.flatMap(({ predictions }) => {
    const theirs = predictions?.confidences;
    return theirs?.scale === scale ? [theirs] : [];
  });
  if (known.length === 0) return undefined;
  return bins.map((_, at) => median(known.map((one) => one.bins[at]! / one.records)));
}
