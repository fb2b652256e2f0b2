/** The figures of the night itself: what the chunks did when, and how many records passed. */
import * as Plot from '@observablehq/plot';
import { formatCount, formatDecimals, formatSpan } from '../quantities.js';
import type { RunReport } from '../report/run-report.js';
import { intervalsOf, phases } from '../report/timeline.js';
import { type Span, shiftFor, shortNumbers, timeAxis } from './axes.js';
import type { Figure } from './draw.js';
import { tableOf } from './html.js';
import { timeText } from './words.js';

/** Up to this number of chunks, each has a bar. */
const MAX_BARS = 40;

const MINUTE = 60_000;

const colorOf = (phase: string) => `var(--${phase})`;
const legend = phases.map((name) => ({ name, color: colorOf(name) }));
const color: Plot.ScaleOptions = { domain: [...phases], range: phases.map(colorOf) };

/** @returns undefined if no times are known. */
export function timelineFigure({ timeline, chunks, timeZone }: RunReport): Figure | undefined {
  if (timeline === null) return undefined;
  const { bins, counted } = timeline;
  const place = shiftFor(timeZone);
  const width = (bins.to - bins.from) / bins.count;
  const hasBars = counted <= MAX_BARS && chunks.length >= counted;
  const bars = chunks.flatMap((chunk) =>
    intervalsOf(chunk, bins.to).map(({ phase, from, to }) => ({
      chunk: chunk.number,
      phase,
      x1: place(from),
      x2: place(to),
      title: `chunk ${chunk.number}: ${phase} for ${formatSpan(to - from)}`,
    })),
  );
  const areas = phases.flatMap((phase) =>
    [...timeline.chunks[phase], timeline.chunks[phase].at(-1)!].map((chunkCount, at) => ({
      phase,
      x: place(bins.from + at * width),
      chunks: chunkCount,
    })),
  );
  const busy = timeline.chunks.processing.map((n, at) => n + timeline.chunks.uploading[at]!);
  // The values are means over a bin, which are not exact.
  const most = Math.ceil(Math.max(...busy) - 0.001);
  return {
    id: 'timeline',
    title: 'Timeline',
    text: `${spanOf(bins, timeZone)}: ${hasBars ? (counted === 1 ? 'the only chunk' : `a bar for each of ${formatCount(counted)} chunks`) : `how many of ${formatCount(counted)} chunks were in each phase`}.${most > 1 ? ` At most ${formatCount(most)} were being uploaded and processed at the same time.` : ''}`,
    legend,
    draw: (drawn) =>
      hasBars
        ? {
            height: 50 + Math.max(bars.length === 0 ? 1 : counted, 3) * 14,
            marginLeft: 44,
            marginTop: 8,
            x: timeAxis(drawn, bins, timeZone),
            y: { label: 'chunk', type: 'band', padding: 0.2, ...thinned(chunks.map(({ number }) => number)) },
            color,
            marks: [Plot.barX(bars, { x1: 'x1', x2: 'x2', y: 'chunk', fill: 'phase', title: 'title' })],
          }
        : {
            height: 240,
            marginLeft: 50,
            x: timeAxis(drawn, bins, timeZone),
            y: { label: 'chunks', grid: true },
            color,
            marks: [
              Plot.areaY(areas, {
                x: 'x',
                y: 'chunks',
                fill: 'phase',
                curve: 'step-after',
                order: [...phases],
              }),
              Plot.ruleY([0]),
            ],
          },
    table: tableOf(
      ['from', ...phases],
      coarse(timeline.chunks, bins.count).map(({ at, values }) => [
        momentText(bins.from + at * width, bins, timeZone),
        ...values.map((value) => formatDecimals(value, 2)),
      ]),
      [1, 2, 3, 4, 5],
    ),
  };
}

/**
 * How many records had passed at each moment; with many chunks, how many passed per second or per minute.
 * @returns undefined if no times are known, or nothing was uploaded.
 */
export function throughputFigure({ timeline, timeZone }: RunReport): Figure | undefined {
  if (timeline === null || sumOf(timeline.records.uploaded) === 0) return undefined;
  const { bins, records, counted } = timeline;
  const isSummed = counted <= MAX_BARS;
  const length = bins.to - bins.from;
  const unit = length < 10 * MINUTE ? 'second' : 'minute';
  const perUnit = unit === 'second' ? 1000 : MINUTE;
  const step = isSummed ? 1 : 3;
  const groups = Math.ceil(bins.count / step);
  const width = (length / bins.count) * step;
  const place = shiftFor(timeZone);
  const passed = kinds.map(({ name }) => {
    const sums = grouped(records[name], step);
    // The sum is reached at the end of its bin; a rate lasts from the beginning to the end.
    const values = isSummed ? [0, ...running(sums)] : [...sums, sums.at(-1)!];
    return values.map((sum, at) => ({
      name,
      x: place(bins.from + at * width),
      value: isSummed ? sum : (sum * perUnit) / width,
    }));
  });
  const mean = (name: Kind) => formatCount(Math.round((sumOf(records[name]) * perUnit) / length));
  const what = isSummed ? 'Records so far' : `Records a ${unit}`;
  return {
    id: 'throughput',
    title: 'Throughput',
    text: `${what}, by when they were uploaded, answered by the service and written. On average, ${mean('uploaded')} a ${unit} were uploaded, ${mean('answered')} answered and ${mean('written')} written.`,
    legend: kinds,
    draw: (drawn) => ({
      height: 220,
      marginLeft: 62,
      x: timeAxis(drawn, bins, timeZone),
      y: { label: isSummed ? 'records' : `records a ${unit}`, grid: true, zero: true, ...shortNumbers },
      color: { domain: kinds.map(({ name }) => name), range: kinds.map(({ color: one }) => one) },
      marks: [
        Plot.ruleY([0]),
        Plot.lineY(passed.flat(), {
          x: 'x',
          y: 'value',
          stroke: 'name',
          curve: 'step-after',
          strokeWidth: 1.8,
        }),
      ],
    }),
    table: tableOf(
      [isSummed ? 'until' : 'from', ...kinds.map(({ name }) => name)],
      passed[0]!.flatMap((_, at) => {
        // The last rate is given twice, for the end of the line.
        if (isSummed ? at % 10 !== 0 : at === groups) return [];
        const values = passed.map((line) => line[at]!.value);
        return [
          [
            momentText(bins.from + at * width, bins, timeZone),
            ...values.map((value) => formatCount(Math.round(value))),
          ],
        ];
      }),
      [1, 2, 3],
    ),
  };
}

const kinds = [
  { name: 'uploaded', color: 'var(--uploading)' },
  { name: 'answered', color: 'var(--processing)' },
  { name: 'written', color: 'var(--merging)' },
] as const;

type Kind = (typeof kinds)[number]['name'];

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0);
}

/** The sums of `step` values each. */
function grouped(values: readonly number[], step: number): number[] {
  return Array.from({ length: Math.ceil(values.length / step) }, (_, group) =>
    sumOf(values.slice(group * step, (group + 1) * step)),
  );
}

/** The sum of each value and those before it. */
function running(values: readonly number[]): number[] {
  let sum = 0;
  return values.map((value) => (sum += value));
}

/** Such as `From 2026-11-21 03:10:02 to 2026-11-21 03:10:04 (2.3 s, UTC)`. */
function spanOf({ from, to }: Span, timeZone: string): string {
  return `From ${timeText(from, timeZone)} to ${timeText(to, timeZone)} (${formatSpan(to - from)}, ${timeZone})`;
}

/** A moment within a span; in a short one with tenths of a second. */
function momentText(at: number, { from, to }: Span, timeZone: string): string {
  const text = timeText(Math.floor(at), timeZone);
  return to - from < MINUTE ? `${text}.${Math.floor((at % 1000) / 100)}` : text;
}

/** Labels of some chunks, if there are many. */
function thinned(numbers: readonly number[]): Plot.ScaleOptions {
  const every = Math.ceil(numbers.length / 20);
  return { domain: [...numbers], ticks: numbers.filter((_, at) => at % every === 0) };
}

/** Every tenth bin. */
function coarse(chunks: NonNullable<RunReport['timeline']>['chunks'], count: number) {
  return Array.from({ length: Math.ceil(count / 10) }, (_, group) => ({
    at: group * 10,
    values: phases.map((phase) => chunks[phase][group * 10]!),
  }));
}
