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

/** A span with its unit, such as `90m`, in milliseconds; undefined for anything else. */
export function parseSpan(text: string): number | undefined {
  if (!/^\d[\d.]* ?[a-z]+$/i.test(text)) return undefined;
  const span: number | undefined = ms(text as ms.StringValue);
  return span !== undefined && span > 0 ? span : undefined;
}

export function formatShare(part: number, whole: number): string {
  return whole === 0 ? '0 %' : `${((100 * part) / whole).toFixed(1)} %`;
}

/** One noun with its number: `1 chunk`, `12 chunks`. */
export function countOf(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;
}
