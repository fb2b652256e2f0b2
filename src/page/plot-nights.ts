/** The figures beside the nights before, and what was spent on each day. */
import * as Plot from '@observablehq/plot';
import type { Night } from '../checkpoint/checkpoint.js';
import {
  countOf,
  formatCount,
  formatDecimals,
  formatPercent,
  formatShare,
  formatSpan,
} from '../quantities.js';
import type { RunReport } from '../report/run-report.js';
import { duration, failureRate, median } from '../report/unusual.js';
import { shiftFor, shortNumbers, timeAxis } from './axes.js';
import type { Figure, SmallFigure } from './draw.js';
import { tableOf } from './html.js';
import { moneyText, percent, timeText } from './words.js';

interface Measure {
  readonly id: string;
  readonly title: string;
  valueIn(night: Night): number | undefined;
  text(value: number): string;
}

const MINUTE = 60_000;

const wholeCount = (value: number) => formatCount(Math.round(value));

const measures: readonly Measure[] = [
  { id: 'rate', title: 'Failed', valueIn: failureRate, text: percent },
  {
    id: 'top-share',
    title: 'Commonest code',
    valueIn: ({ predictions }) => predictions?.codes[0] && predictions.codes[0].records / predictions.coded,
    text: percent,
  },
  {
    id: 'mean-confidence',
    title: 'Mean confidence',
    valueIn: ({ predictions }) => predictions?.confidences?.mean,
    text: (value) => formatDecimals(value),
  },
  {
    id: 'minutes',
    title: 'Duration',
    valueIn: (night) => duration(night) / MINUTE,
    text: (value) => formatSpan(value * MINUTE),
  },
  { id: 'records', title: 'Records', valueIn: ({ counts }) => counts.read, text: wholeCount },
  { id: 'paid', title: 'Records paid for', valueIn: ({ paid }) => paid, text: wholeCount },
];

/** A small figure for each measure that is known of at least two nights. */
export function nightFigures({ night, before, timeZone }: RunReport): SmallFigure[] {
  if (night === null || before.length === 0) return [];
  const nights = [...before].reverse();
  const place = shiftFor(timeZone);
  const hasBlank = [...nights, night].some(({ origins }) => origins.skipped.records > 0);
  const span = { from: nights[0]!.began, to: night.began };
  return measures.flatMap(({ id, title, valueIn, text }) => {
    const now = valueIn(night);
    const dots = [...nights, night].flatMap((one) => {
      const value = valueIn(one);
      const when = timeText(one.began, timeZone).slice(0, 16);
      return value === undefined
        ? []
        : [{ x: place(one.began), value, isNow: one === night, title: `${when}: ${text(value)}` }];
    });
    const known = dots.filter(({ isNow }) => !isNow).map(({ value }) => value);
    if (now === undefined || known.length === 0) return [];
    const usual = median(known);
    const most = Math.max(...dots.map(({ value }) => value));
    return [
      {
        id: `night-${id}`,
        title: id === 'rate' && hasBlank ? `${title}, without blank records` : title,
        text: `${text(now)}, usually ${text(usual)}`,
        draw: (width) => ({
          height: 110,
          marginLeft: 46,
          marginRight: 14,
          x: timeAxis(width, span, timeZone),
          y: { label: null, grid: true, ...axisOf(id, most), domain: [0, most === 0 ? 1 : most * 1.08] },
          marks: [
            Plot.ruleY([usual], { stroke: 'var(--muted)', strokeDasharray: '4 3' }),
            Plot.lineY(dots, { x: 'x', y: 'value', stroke: 'var(--bar)', strokeWidth: 1.5 }),
            Plot.dot(dots, {
              ...{ x: 'x', y: 'value', fill: 'var(--bar)', title: 'title' },
              r: ({ isNow }: { isNow: boolean }) => (isNow ? 5 : 2.5),
            }),
          ],
          r: { type: 'identity' },
        }),
      } satisfies SmallFigure,
    ];
  });
}

/** @param most the largest value. */
function axisOf(id: string, most: number): Plot.ScaleOptions {
  if (id === 'rate' || id === 'top-share') {
    return { ticks: 3, tickFormat: (value: number) => formatPercent(value, 2) };
  }
  if (id !== 'minutes') return { ...shortNumbers, ticks: 3 };
  const step = SPAN_STEPS.find((minutes) => most / minutes <= 3) ?? 24 * 60;
  return {
    ticks: Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step),
    tickFormat: spanTick,
  };
}

/** Minutes between two labels of a duration. */
const SPAN_STEPS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30].map((seconds) => seconds / 60),
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 3, 6, 12].map((hours) => hours * 60),
];

function spanTick(minutes: number): string {
  if (minutes === 0) return '0';
  if (minutes < 1) return `${formatDecimals(minutes * 60, 2)} s`;
  return minutes < 60 ? `${formatDecimals(minutes, 2)} min` : `${formatDecimals(minutes / 60, 2)} h`;
}

/** All nights in one table: tonight first. */
export function nightsTable({ night, before, timeZone }: RunReport) {
  const nights = night === null ? before : [night, ...before];
  return tableOf(
    ['began', 'run', 'read', 'failed', 'commonest code', 'confidence', 'duration', 'paid for', 'cost'],
    nights.map((one) => [
      timeText(one.began, timeZone).slice(0, 16),
      one.run,
      formatCount(one.counts.read),
      percent(failureRate(one)),
      topText(one),
      one.predictions?.confidences ? formatDecimals(one.predictions.confidences.mean) : '–',
      formatSpan(duration(one)),
      formatCount(one.paid),
      moneyText(one.amount, one.currency) ?? '–',
    ]),
    [2, 3, 5, 6, 7, 8],
  );
}

function topText({ predictions }: Night): string {
  const top = predictions?.codes[0];
  return top === undefined ? '–' : `${top.code} (${formatShare(top.records, predictions!.coded)})`;
}

/** @returns undefined if nothing was paid for lately. */
export function spendFigure({ spend, summary, at, timeZone }: RunReport): Figure | undefined {
  const { currency } = summary.paid;
  if (spend.length === 0) return undefined;
  const inMoney = spend.every(({ amount }) => amount !== null);
  const bars = spend.map(({ day, records, amount }) => ({
    x1: new Date(`${day}T00:00:00Z`),
    x2: new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000),
    value: inMoney ? amount! : records,
    title: `${day}: ${countOf(records, 'record')}${inMoney ? `, ${moneyText(amount, currency)}` : ''}`,
  }));
  const records = spend.reduce((sum, one) => sum + one.records, 0);
  const amount = inMoney ? spend.reduce((sum, one) => sum + one.amount!, 0) : null;
  const today = shiftFor(timeZone)(at);
  const domain = [
    new Date(Math.min(+bars[0]!.x1, +today - 6 * 86_400_000)),
    new Date(Math.max(+today, +bars.at(-1)!.x2)),
  ];
  return {
    id: 'spend',
    title: 'Spend by day',
    text: `${countOf(records, 'record')} of this pipeline paid for in the last 31 days${amount === null ? '' : `: ${moneyText(amount, currency)}`}. What may have been accepted counts too; rehearsals do not.`,
    draw: (width) => ({
      height: 190,
      marginLeft: 56,
      x: { ...timeAxis(width, { from: at - 31 * 86_400_000, to: at }, timeZone), domain },
      y: { label: inMoney ? currency : 'records', grid: true, ...shortNumbers },
      marks: [
        Plot.rectY(bars, {
          x1: 'x1',
          x2: 'x2',
          y: 'value',
          fill: 'var(--bar)',
          insetLeft: 1,
          insetRight: 1,
          title: 'title',
        }),
        Plot.ruleY([0]),
      ],
    }),
    table: tableOf(
      ['day', 'records', 'cost'],
      spend.map((one) => [one.day, formatCount(one.records), moneyText(one.amount, currency) ?? '–']),
      [1, 2],
    ),
  };
}
