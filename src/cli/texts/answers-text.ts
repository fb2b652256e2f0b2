/** What the commands of `foliopipe reuse` print for people. */
import {
  type AnswerTotals,
  type Config,
  type Forgotten,
  type ImportedAnswers,
  type PrunedAnswers,
  priceOf,
  type ShownAnswers,
  type ShownSegment,
} from '../../../pipelines/index.js';
import { countOf, formatAmount, formatBytes, formatCount, formatDuration } from '../../quantities.js';
import { presentTexts } from '../../text.js';

export function shownText({ segments, taken, all }: ShownAnswers, config: Config): string {
  const now = Date.now();
  const others = all.segments - taken.segments;
  const lines = presentTexts([
    ...segments.map((segment) => segmentText(segment, now)),
    `a run of ${config.pipeline} takes the answers of ${countOf(taken.segments, 'run')}: ${totalText(taken)}`,
    others > 0 && `in all ${countOf(all.segments, 'run')} with answers: ${totalText(all)}`,
    config.reuse.maxAge === 0 && 'reuse.maxAge is 0: no answer is taken',
  ]);
  return `${lines.join('\n')}\n`;
}

const UNUSED: Readonly<Record<NonNullable<ShownSegment['unused']>, string>> = {
  service: 'not taken: another service',
  columns: 'not taken: other sent columns',
  epoch: 'not taken: another reuse.epoch',
  expired: 'not taken: too old',
  empty: 'forgotten',
  lost: 'its file is lost or damaged: a run rebuilds it, or is refused and says what to do',
};

function segmentText(segment: ShownSegment, now: number): string {
  const { run, successful, failed, bytes, oldest, newest, epoch, rehearsal, unused, expires } = segment;
  const days = [...new Set([oldest, newest].map(dayOf))].join(' to ');
  const ages = [...new Set([oldest, newest].map((time) => formatDuration(now - time)))].join(' to ');
  const last = Math.max(expires.successful ?? 0, expires.failed ?? 0);
  return presentTexts([
    run,
    `${formatCount(successful)} SUCCESSFUL, ${formatCount(failed)} FAILED`,
    formatBytes(bytes),
    `paid ${days}, ${ages} ago`,
    epoch !== '' && `epoch ${epoch}`,
    rehearsal && 'rehearsal',
    unused === null && last > now && `until ${dayOf(last)}, ${formatDuration(last - now)} from now`,
    unused !== null && UNUSED[unused],
  ]).join('  ');
}

function totalText({ successful, failed, bytes, bytesPerRecord }: AnswerTotals): string {
  const each = bytesPerRecord === null ? '' : `, ${bytesPerRecord.toFixed(1)} bytes each`;
  return `${formatCount(successful)} SUCCESSFUL, ${formatCount(failed)} FAILED, ${formatBytes(bytes)}${each}`;
}

export function prunedText(
  { runs, successful, failed, bytes }: PrunedAnswers,
  config: Config,
  dryRun: boolean,
): string {
  if (config.reuse.maxAge === 0) {
    return 'reuse.maxAge is 0: no answer is too old. To remove answers: foliopipe reuse forget\n';
  }
  const done = dryRun ? 'would be removed' : 'removed';
  const answers = countOf(successful + failed, 'answer');
  return `${[...runs, `answers of ${countOf(runs.length, 'run')} ${done}: ${answers}, ${formatBytes(bytes)}`].join('\n')}\n`;
}

export function forgottenText({ segments, successful, failed }: Forgotten, config: Config): string {
  const lines = segments.map(
    (one) =>
      `${one.run}  ${formatCount(one.successful)} SUCCESSFUL, ${formatCount(one.failed)} FAILED forgotten, ${formatCount(one.left)} left`,
  );
  const records = successful + failed;
  const { pricePerRecord, currency } = config.budget;
  const amount = priceOf(records, pricePerRecord);
  const price = amount === null ? '' : ` (${formatAmount(amount)} ${currency})`;
  const end =
    records === 0
      ? 'no stored answer was found: nothing is forgotten'
      : `${countOf(records, 'answer')} forgotten: up to ${countOf(records, 'record')} of the next runs ${records === 1 ? 'is' : 'are'} bought again${price}`;
  return `${[...lines, end].join('\n')}\n`;
}

const FROM: Readonly<Record<ImportedAnswers['paidFrom'], string>> = {
  given: '--paid-at',
  manifest: "the manifest's time",
  file: "the file's last change; --paid-at is more exact",
};

export function importedText(imported: ImportedAnswers, config: Config): string {
  const { run, read, successful, failed, unanswered, blank, columns, checked, replaced } = imported;
  const { paidAt, paidFrom, reusedRows } = imported;
  const { maxAge } = config.reuse;
  const lines = presentTexts([
    `${run}  ${formatCount(successful)} SUCCESSFUL and ${formatCount(failed)} FAILED answers of ${countOf(read, 'row')}: ${columns.join(', ')}`,
    `paid ${dayOf(paidAt)} (${FROM[paidFrom]})`,
    reusedRows > 0 &&
      `${countOf(reusedRows, 'row')} of the file had reused answers, which are older: give the oldest day with --paid-at; an output with output.lineage: true has the day of each row`,
    unanswered > 0 && `${countOf(unanswered, 'row')} without an answer of the service left out`,
    blank > 0 && `${countOf(blank, 'row')} left out: blank in all sent columns`,
    !checked &&
      'the names of these columns are not checked, because neither result.columns nor a run says which columns the service gives; to choose others: --columns',
    replaced && 'an earlier import of the same file is replaced',
    maxAge === 0 && 'reuse.maxAge is 0: set it, or no run takes these answers',
    maxAge > 0 &&
      paidAt + maxAge <= Date.now() &&
      `they were paid for longer ago than reuse.maxAge (${formatDuration(maxAge)}): no run takes them, except those with a later time of their own`,
  ]);
  return `${lines.join('\n')}\n`;
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
