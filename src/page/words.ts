/** Texts of the page: times and numbers. */
import { formatShare } from '../quantities.js';
import { escapeUnprintable } from '../text.js';

/**
 * Cuts a text to this number of characters, and escapes what cannot be shown. For drawings, where nothing else escapes
 * it.
 */
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

/** A share from 0 to 1. */
export function percent(share: number): string {
  return formatShare(share, 1);
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
