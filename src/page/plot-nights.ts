/** The figures beside the nights before, and what was spent on each day. */
import * as Plot from '@observablehq/plot';
import type { Night } from '../checkpoint/checkpoint.js';
import { countOf, formatCount, formatPercent } from '../quantities.js';
import type { RunReport } from '../report/run-report.js';
import { duration, failureRate, median } from '../report/unusual.js';
import type { Figure } from './draw.js';
import { tableOf } from './html.js';
import { shortNumbers, timeAxis } from './plot-timeline.js';
import { decimals, moneyText, shiftFor, spanText, timeText } from './words.js';

interface Measure {
  readonly id: string;
  readonly title: string;
  valueIn(night: Night): number | undefined;
  text(value: number): string;
}

const MINUTE = 60_000;

const wholeCount = (value: number) => formatCount(Math.round(value));

const measures: readonly Measure[] = [
  { id: 'rate', title: 'Failed', valueIn: failureRate, text: (value) => formatPercent(value, 2) },
  {
    id: 'top-share',
    title: 'Commonest code',
    valueIn: ({ predictions }) => predictions?.codes[0] && predictions.codes[0].records / predictions.coded,
    text: (value) => formatPercent(value, 1),
  },
  {
    id: 'mean-confidence',
    title: 'Mean confidence',
    valueIn: ({ predictions }) => predictions?.confidences?.mean,
    text: (value) => decimals(value),
  },
  {
    id: 'minutes',
    title: 'Duration',
    valueIn: (night) => duration(night) / MINUTE,
    text: (value) => spanText(value * MINUTE),
  },
  { id: 'records', title: 'Records', valueIn: ({ counts }) => counts.read, text: wholeCount },
  { id: 'paid', title: 'Records paid for', valueIn: ({ paid }) => paid, text: wholeCount },
];

/** A small figure for each measure that is known of at least two nights. */
export function nightFigures({ night, before, timeZone }: RunReport): Figure[] {
  if (night === null || before.length === 0) return [];
  const nights = [...before].reverse();
  const place = shiftFor(timeZone);
  const span = night.began - nights[0]!.began;
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
        title,
        text: `${text(now)}, usually ${text(usual)}`,
        draw: (width) => ({
          height: 110,
          marginLeft: 46,
          marginRight: 14,
          x: timeAxis(width, span),
          y: { label: null, grid: true, ...axisOf(id), domain: [0, most === 0 ? 1 : most * 1.08], ticks: 3 },
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
        table: tableOf([], [], []),
      } satisfies Figure,
    ];
  });
}

function axisOf(id: string): Plot.ScaleOptions {
  if (id === 'rate' || id === 'top-share') {
    return { tickFormat: (value: number) => formatPercent(value, 2) };
  }
  return id === 'minutes' ? { tickFormat: (value: number) => spanTick(value) } : shortNumbers;
}

function spanTick(minutes: number): string {
  if (minutes === 0) return '0';
  return minutes < 1
    ? `${decimals(minutes * 60, 2)}s`
    : minutes < 60
      ? `${decimals(minutes, 2)}m`
      : `${decimals(minutes / 60, 2)}h`;
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
      formatPercent(failureRate(one), 2),
      topText(one),
      one.predictions?.confidences ? decimals(one.predictions.confidences.mean) : '–',
      spanText(duration(one)),
      formatCount(one.paid),
      moneyText(one.amount, one.currency) ?? '–',
    ]),
    [2, 3, 5, 6, 7, 8],
  );
}

function topText({ predictions }: Night): string {
  const top = predictions?.codes[0];
  return top === undefined ? '–' : `${top.code} (${formatPercent(top.records / predictions!.coded, 1)})`;
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
      x: { ...timeAxis(width, 31 * 86_400_000), domain },
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
