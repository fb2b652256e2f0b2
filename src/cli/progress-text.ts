/** Progress in one line: pure, from the checkpoint's rows. */
import type { Run, Tally } from '../../pipelines/index.js';
import { formatBytes, formatCount, formatSpan } from './format.js';

/** Records a second, smoothed over the looks so far. */
export type Rate = (records: number, at: number) => number | null;

/** Measures from the first look on, so that what an earlier process did does not count. */
export function createRate(): Rate {
  let first: { records: number; at: number } | undefined;
  return (records, at) => {
    first ??= { records, at };
    const seconds = (at - first.at) / 1000;
    return seconds < 1 || records === first.records ? null : (records - first.records) / seconds;
  };
}

export function scanText(bytes: number, records: number): string {
  return `checking the source: ${formatCount(records)} records, ${formatBytes(bytes)}`;
}

export function progressText(run: Run, tally: Tally, rate: number | null): string {
  const { records, rejected } = run.source;
  const cut = Object.values(tally.records).reduce((sum, count) => sum + count, 0) - tally.records.split;
  // Failed records go out again: more are sent then than the source has.
  const all = cut > records ? cut : records - rejected;
  const done = tally.records.downloaded + tally.records.unprocessed + tally.records.refused;
  const { chunks } = tally;
  const states = [
    ...(chunks.cut > 0 ? [`${chunks.cut} cut`] : []),
    ...(chunks.uploading > 0 ? [`${chunks.uploading} uploading`] : []),
    ...(chunks.ambiguous > 0 ? [`${chunks.ambiguous} ambiguous`] : []),
    `${chunks.submitted} open folios`,
    ...(chunks.finished > 0 ? [`${chunks.finished} finished`] : []),
    `${chunks.downloaded} downloaded`,
    ...(chunks.unprocessed > 0 ? [`${chunks.unprocessed} unprocessed`] : []),
    ...(chunks.refused > 0 ? [`${chunks.refused} refused`] : []),
    `${tally.merged.chunks} merged`,
  ];
  const eta =
    rate === null
      ? ''
      : `, ${formatCount(Math.round(rate))}/s, ${formatSpan((1000 * (all - done)) / rate)} left`;
  const total = run.chunks === null ? '' : ` of ${run.chunks}`;
  return `${formatCount(done)} of ${formatCount(all)} records${eta}; chunks${total}: ${states.join(', ')}`;
}
