/** Texts of the page: times, durations, shares and numbers. */
import { escapeUnprintable } from '../text.js';

/** Cuts a text to so many characters, and escapes what cannot be shown. For drawings, where nothing else escapes it. */
export function fitText(text: string, characters: number): string {
  const shown = Array.from(escapeUnprintable(text));
  return shown.length <= characters ? shown.join('') : `${shown.slice(0, characters - 1).join('')}…`;
}

/** Such as `2026-11-21 03:10:02`. */
export function timeText(at: number | null, timeZone: string): string {
  if (at === null) return '–';
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return format.format(at);
}

/** Such as `1 h 04 min`, `2 min 05 s` or `0.8 s`. */
export function spanText(ms: number | null): string {
  if (ms === null) return '–';
  const seconds = ms / 1000;
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (value: number) => String(value).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
}

/** A moment as the drawing library takes it: shifted, because its time axis is in UTC. */
export function shiftFor(timeZone: string): (at: number) => Date {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' });
  return (at) => {
    const there = Date.parse(`${format.format(at).replace(' ', 'T')}Z`);
    return new Date(there + (at % 1000));
  };
}

export function decimals(value: number, digits = 3): string {
  return String(Number(value.toPrecision(digits)));
}

/** An amount of money: at least two decimals, and as many as a small price needs. */
export function moneyText(amount: number | null, currency: string): string | null {
  if (amount === null) return null;
  const format = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: 2,
    maximumFractionDigits: amount < 1 ? 6 : 2,
  });
  return `${format.format(amount)} ${currency}`;
}
