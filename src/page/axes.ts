/** Axes of the drawings: moments with as many labels as there is room for, and short numbers. */
import type * as Plot from '@observablehq/plot';
import { timeText } from './words.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Up to this time, the labels count from the beginning. */
const SHORT = MINUTE;
/** From this time on, the labels are days. */
const LONG = 3 * DAY;

const SHORT_STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND];
const STEPS = [
  ...[5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  DAY,
];

/** A span of time, in epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** `12K` in place of `12,000`. */
export const shortNumbers: Plot.ScaleOptions = {
  tickFormat: (value: number) => new Intl.NumberFormat('en-US', { notation: 'compact' }).format(value),
  ticks: 5,
};

/** An axis of moments. @param width of the drawing, in pixels. */
export function timeAxis(width: number, span: Span, timeZone: string): Plot.ScaleOptions {
  const length = span.to - span.from;
  if (length < SHORT) return secondsAxis(width, span, timeZone);
  const type = 'utc';
  if (length > LONG) return { type, label: null, ticks: width < 300 ? 3 : width < 500 ? 4 : 8 };
  const step = stepFor(STEPS, length, width);
  const place = shiftFor(timeZone);
  const first = Math.ceil(+place(span.from) / step) * step;
  const ticks = ticksOf(first, +place(span.to), step);
  return {
    type,
    label: null,
    domain: [place(span.from), place(span.to)],
    ticks: ticks.map((at) => new Date(at)),
    tickFormat: (at: Date, index: number) => {
      const [day, time] = at.toISOString().split('T') as [string, string];
      const shown = time.slice(0, step < MINUTE ? 8 : 5);
      return index === 0 || time.startsWith('00:00:00') ? `${shown}\n${day.slice(5)}` : shown;
    },
  };
}

/** Seconds since the beginning: the time of day would be nearly the same at each label. */
function secondsAxis(width: number, { from, to }: Span, timeZone: string): Plot.ScaleOptions {
  const place = shiftFor(timeZone);
  const step = stepFor(SHORT_STEPS, to - from, width);
  return {
    type: 'utc',
    label: `seconds after ${timeText(from, timeZone).slice(11)}`,
    labelOffset: 34,
    domain: [place(from), place(to)],
    ticks: ticksOf(0, to - from, step).map((after) => new Date(+place(from) + after)),
    tickFormat: (at: Date) => String((+at - +place(from)) / SECOND),
  };
}

/** The first step that leaves enough room for each label. */
function stepFor(steps: readonly number[], length: number, width: number): number {
  const labels = Math.max(Math.floor((width - 60) / 68), 2);
  return steps.find((step) => length / step <= labels) ?? steps.at(-1)!;
}

function ticksOf(first: number, last: number, step: number): number[] {
  return Array.from(
    { length: Math.max(Math.floor((last - first) / step) + 1, 0) },
    (_, at) => first + at * step,
  );
}

/** A moment as the drawing library takes it: shifted, because its time axis is in UTC. */
export function shiftFor(timeZone: string): (at: number) => Date {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return (at) => {
    const there = Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
    return new Date(there + (at % 1000));
  };
}
