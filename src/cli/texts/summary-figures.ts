/** The figures of a run's summary as lines of at most 80 columns: records, reasons, costs and times. */
import { type RunSummary, withoutReasonText } from '../../../pipelines/index.js';
import {
  countOf,
  formatAmount,
  formatBytes,
  formatCount,
  formatDuration,
  formatShare,
} from '../../quantities.js';
import { escapeUnprintable, presentTexts, shorten } from '../../text.js';
import { runReuseLines } from './reuse-text.js';
import { field, INDENT, WIDTH } from './summary-field.js';

/** The lines about records and what they cost. */
export function recordLines(summary: RunSummary): string[] {
  const { read, successful, failed, unprocessed, rejected } = summary.counts;
  const rows = successful + failed + unprocessed;
  const ends = `${formatCount(successful)} successful + ${formatCount(failed)} failed (${formatShare(failed, rows)}) + ${formatCount(unprocessed)} unprocessed`;
  const text =
    rows + rejected < read
      ? `${formatCount(read)} read; ${countOf(rows, 'row')} written so far = ${ends}`
      : `${formatCount(read)} read = ${ends} + ${formatCount(rejected)} rejected`;
  return [
    ...field('records', text),
    ...reasonLines(summary),
    ...runReuseLines(summary),
    ...costLines(summary),
  ];
}

/** The most frequent reasons of records without a prediction. The service's text is cut and escaped. */
function reasonLines(summary: RunSummary): string[] {
  const { failedBy, failedWithoutReason: unknown } = summary;
  const left = failedBy.slice(MOST_REASONS).reduce((sum, { records }) => sum + records, 0);
  const shown = [
    ...failedBy.slice(0, MOST_REASONS).map(({ code, reason, records }) => {
      const text = reason === null ? 'other reasons' : escapeUnprintable(shorten(reason, WIDTH));
      return { records, text: `${code}: ${text}` };
    }),
    ...(left > 0 ? [{ records: left, text: 'other reasons' }] : []),
    ...(unknown > 0 ? [{ records: unknown, text: withoutReasonText(summary) }] : []),
  ];
  const digits = Math.max(...shown.map(({ records }) => formatCount(records).length));
  return shown.map(({ records, text }, at) => {
    const name = (at === 0 ? 'reasons' : '').padEnd(INDENT - 3);
    return shorten(`  ${name} ${formatCount(records).padStart(digits)} ${text}`, WIDTH);
  });
}

const MOST_REASONS = 3;

function costLines({ paid, saved, outdated, retried, inVain, rehearsal }: RunSummary): string[] {
  const price = (amount: number | null) =>
    amount === null ? '' : ` (${formatAmount(amount)} ${paid.currency})`;
  const again = presentTexts([
    retried.records > 0 && `${countOf(retried.records, 'failed record')} sent once more`,
    retried.searches > 0 && `${countOf(retried.searches, 'failed record')} searched one by one`,
  ]);
  // A rehearsal pays nothing.
  if (rehearsal) return again.length > 0 ? field('retried', again.join(', ')) : [];
  const each = paid.amount === null || paid.records === 0 ? null : paid.amount / paid.records;
  const upTo = inVain.perhaps > 0 ? 'up to ' : '';
  const lost = presentTexts([
    inVain.records > 0 && `${countOf(inVain.records, 'record')}${price(inVain.amount)} without an answer`,
    inVain.perhaps > 0 &&
      `perhaps ${countOf(inVain.perhaps, 'record')}${price(each && each * inVain.perhaps)}`,
  ]);
  // The line about reuse says it already.
  const isSaid = saved.records === 0 || outdated !== null;
  const kept = isSaid ? '' : `; saved ${countOf(saved.records, 'record')}${price(saved.amount)}`;
  return [
    ...(again.length > 0 ? field('retried', `${again.join(', ')}; paid again`) : []),
    ...(paid.records > 0
      ? field('paid', `${upTo}${countOf(paid.records, 'record')}${price(paid.amount)}${kept}`)
      : []),
    ...(lost.length > 0 ? field('in vain', lost.join(', ')) : []),
  ];
}

const phaseNames = {
  check: 'check',
  upload: 'upload',
  download: 'download',
  wait: 'waiting for the service',
  merge: 'merge',
} as const;

/** How long this process worked, by phase. */
export function timeLines({ thisProcess }: RunSummary): string[] {
  if (thisProcess === null) return [];
  const { phases, requests, bytes, admitted } = thisProcess;
  const total = Object.values(phases).reduce((sum, time) => sum + time, 0);
  const parts = Object.entries(phaseNames).flatMap(([phase, name]) => {
    const time = phases[phase as keyof typeof phaseNames];
    return time === 0 ? [] : [`${name} ${formatDuration(time)}`];
  });
  const traffic =
    requests.uploads + requests.polls + requests.downloads === 0
      ? []
      : [
          `${formatBytes(bytes.uploaded)} sent, ${formatBytes(bytes.downloaded)} received, ${countOf(requests.polls, 'poll')}`,
        ];
  const refused = 'has refused more of them (429): concurrency.folios is too high for it';
  return [
    ...field('time', [`${formatDuration(total)}: ${parts.join(', ')}`, ...traffic].join('; ')),
    ...(admitted === null
      ? []
      : field('folios', `the service allows ${countOf(admitted, 'open folio')} and ${refused}`)),
  ];
}
