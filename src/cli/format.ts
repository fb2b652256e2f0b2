/** Numbers, sizes, spans and shares as people read them. */
import bytes from 'bytes';
import ms from 'ms';

const grouped = new Intl.NumberFormat('en-US');

export function formatCount(count: number): string {
  return grouped.format(count);
}

export function formatBytes(size: number): string {
  return bytes.format(size, { unitSeparator: ' ' }) ?? String(size);
}

/** Such as `2h` or `45s`. */
export function formatSpan(time: number): string {
  const seconds = Math.max(0, Math.round(time / 1000));
  return seconds === 0 ? '0s' : ms(seconds * 1000);
}

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** One noun with its number: `1 chunk`, `12 chunks`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
