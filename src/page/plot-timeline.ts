/** The figures of the night itself: what the chunks did when, and how many records passed. */
import * as Plot from '@observablehq/plot';
import { countOf, formatCount } from '../quantities.js';
import type { RunReport } from '../report/run-report.js';
import { intervalsOf, phases } from '../report/timeline.js';
import type { Figure } from './draw.js';
import { tableOf } from './html.js';
import { decimals, shiftFor, spanText, timeText } from './words.js';

/** Up to so many chunks have a bar each. */
const MAX_BARS = 40;

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
      title: `chunk ${chunk.number}: ${phase} for ${spanText(to - from)}`,
    })),
  );
  const areas = phases.flatMap((phase) =>
    [...timeline.chunks[phase], timeline.chunks[phase].at(-1)!].map((chunkCount, at) => ({
      phase,
      x: place(bins.from + at * width),
      chunks: chunkCount,
    })),
  );
  const most = Math.max(...timeline.chunks.processing.map((n, at) => n + timeline.chunks.uploading[at]!));
  return {
    id: 'timeline',
    title: 'Timeline',
    text: `${countOf(counted, 'chunk')} from ${timeText(bins.from, timeZone)} to ${timeText(bins.to, timeZone)} (${spanText(bins.to - bins.from)}, ${timeZone}): ${hasBars ? 'a bar each' : 'how many were in each phase'}. At most ${formatCount(Math.ceil(most))} were being uploaded and processed at the same time.`,
    legend,
    draw: (drawn) =>
      hasBars
        ? {
            height: 50 + Math.max(bars.length === 0 ? 1 : counted, 3) * 14,
            marginLeft: 44,
            marginTop: 8,
            x: timeAxis(drawn, bins.to - bins.from),
            y: { label: 'chunk', type: 'band', padding: 0.2, ...thinned(chunks.map(({ number }) => number)) },
            color,
            marks: [Plot.barX(bars, { x1: 'x1', x2: 'x2', y: 'chunk', fill: 'phase', title: 'title' })],
          }
        : {
            height: 240,
            marginLeft: 50,
            x: timeAxis(drawn, bins.to - bins.from),
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
        timeText(bins.from + at * width, timeZone),
        ...values.map((value) => decimals(value, 2)),
      ]),
      [1, 2, 3, 4, 5],
    ),
  };
}

/** @returns undefined if no times are known. */
export function throughputFigure({ timeline, timeZone }: RunReport): Figure | undefined {
  if (timeline === null) return undefined;
  const { bins, records } = timeline;
  const span = bins.to - bins.from;
  const unit = span < 10 * 60_000 ? 'second' : 'minute';
  const perUnit = unit === 'second' ? 1000 : 60_000;
  const kinds = [
    { name: 'uploaded', color: 'var(--uploading)' },
    { name: 'answered', color: 'var(--processing)' },
    { name: 'written', color: 'var(--merging)' },
  ] as const;
  const step = 3;
  const groups = Math.ceil(bins.count / step);
  const width = (span / bins.count) * step;
  const place = shiftFor(timeZone);
  const rates = kinds.flatMap(({ name }) => {
    const sums = Array.from({ length: groups }, (_, group) =>
      records[name].slice(group * step, (group + 1) * step).reduce((sum, one) => sum + one, 0),
    );
    return [...sums, sums.at(-1)!].map((sum, group) => ({
      name,
      x: place(bins.from + group * width),
      rate: (sum * perUnit) / width,
    }));
  });
  const total = (name: (typeof kinds)[number]['name']) => records[name].reduce((sum, one) => sum + one, 0);
  const mean = (name: (typeof kinds)[number]['name']) =>
    formatCount(Math.round((total(name) * perUnit) / span));
  return {
    id: 'throughput',
    title: 'Throughput',
    text: `Records a ${unit}, by when they were uploaded, answered by the service and written. On average ${mean('uploaded')} were uploaded, ${mean('answered')} answered and ${mean('written')} written.`,
    legend: kinds,
    draw: (drawn) => ({
      height: 220,
      marginLeft: 62,
      x: timeAxis(drawn, bins.to - bins.from),
      y: { label: `records a ${unit}`, grid: true, zero: true, ...shortNumbers },
      color: { domain: kinds.map(({ name }) => name), range: kinds.map(({ color: one }) => one) },
      marks: [
        Plot.ruleY([0]),
        Plot.lineY(rates, { x: 'x', y: 'rate', stroke: 'name', curve: 'step-after', strokeWidth: 1.8 }),
      ],
    }),
    table: tableOf(
      ['from', ...kinds.map(({ name }) => name)],
      Array.from({ length: groups }, (_, group) => [
        timeText(bins.from + group * width, timeZone),
        ...kinds.map(({ name }) =>
          formatCount(
            records[name].slice(group * step, (group + 1) * step).reduce((sum, one) => sum + one, 0),
          ),
        ),
      ]),
      [1, 2, 3],
    ),
  };
}

/** `12k` in place of `12,000`. */
export const shortNumbers: Plot.ScaleOptions = {
  tickFormat: (value: number) => new Intl.NumberFormat('en-US', { notation: 'compact' }).format(value),
  ticks: 5,
};

/** An axis of moments, with as many labels as there is room for. @param span in milliseconds. */
export function timeAxis(width: number, span: number): Plot.ScaleOptions {
  const ticks = width < 300 ? 3 : width < 500 ? 4 : 8;
  const axis = { type: 'utc', label: null, ticks } as const;
  if (span > 3 * DAY) return axis;
  const isShort = span < 10 * 60_000;
  return {
    ...axis,
    tickFormat: (at: Date, index: number) => {
      const [day, time] = at.toISOString().split('T') as [string, string];
      const shown = time.slice(0, isShort ? 8 : 5);
      return index === 0 || time.startsWith('00:00:00') ? `${shown}\n${day.slice(5)}` : shown;
    },
  };
}

const DAY = 86_400_000;

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
