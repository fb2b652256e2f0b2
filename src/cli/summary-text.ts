/** The summary of a run as text. */
import {
  adoptHint,
  failureText,
  isTolerated,
  lostFolioText,
  type RunSummary,
} from '../../pipelines/index.js';
import { countOf, formatBytes, formatCount, formatShare } from '../quantities.js';
import { runReuseLines } from './reuse-text.js';

export interface SummaryTerms {
  /** The command that continues the run if it is not done. */
  readonly resume: string;
  /** `failures.tolerate` of the current config: a share from 0 to 1. */
  readonly tolerate: number;
  /** Whether `foliopipe retry` can find the run: false in a rehearsal. */
  readonly mayRetry: boolean;
}

export function summaryText(summary: RunSummary, terms: SummaryTerms): string {
  const lines = [
    headline(summary, terms.resume),
    ...published(summary),
    ...warnings(summary),
    ...(summary.exitCode === 3 ? whyPartial(summary, terms) : []),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(summary: RunSummary, resume: string): string {
  const { run, found, state, exitCode, chunks, rehearsal, publication, publishedAgain } = summary;
  const what = rehearsal ? `rehearsal ${run}` : `run ${run}`;
  if (exitCode === 8)
    return `${what} was stopped by its deadline: what is done is published, and the same command continues it`;
  if (state !== 'done')
    return `${what}: ${countOf(chunks.byState.submitted, 'open folio')}; go on with: ${resume}`;
  if (publishedAgain !== null)
    return `${what} is done already; nothing was sent. It was published again, as publication ${publication}: ${publishedAgain}`;
  if (found === 'done') return `${what} is done already; nothing was sent. --new starts over and pays again`;
  if (isNothingSent(summary)) return `${what} is done; every answer was known, and nothing was sent`;
  return `${what} is done`;
}

/** Whether every record takes an answer that was known, and no failed one was sent again. */
function isNothingSent({ origins, outdated, uploads, searches }: RunSummary): boolean {
  const requests = uploads.accepted + uploads.ambiguous + searches.answered + searches.ambiguous;
  return outdated !== null && origins.reused.records > 0 && requests === 0;
}

function published(summary: RunSummary): string[] {
  const { counts, output, columns, manifest, marker, publication } = summary;
  if (output === null) return [];
  const { read, successful, failed, unprocessed, rejected } = counts;
  return [
    `  output    ${output.path} (${countOf(output.records, 'record')}, ${formatBytes(output.bytes)}), publication ${publication}`,
    `  records   ${formatCount(read)} read = ${formatCount(successful)} successful + ${formatCount(failed)} failed (${formatShare(failed, read - rejected)}) + ${formatCount(unprocessed)} unprocessed + ${formatCount(rejected)} rejected`,
    ...runReuseLines(summary),
    `  columns   ${columns.length === 0 ? 'none: no record was successful' : columns.join(', ')}`,
    ...deltaLines(summary),
    `  manifest  ${manifest}`,
    `  marker    ${marker}`,
  ];
}

const unusual = {
  first: ': the first one, so every row is added',
  'no-delta-before': ': the last publication was made without one, so every row is added',
  key: ': the last publication had another source.key, so every row is added',
  columns: ', which had other columns: every row that is in both counts as changed',
};

function deltaLines({ delta, base }: RunSummary): string[] {
  if (delta === undefined) return [];
  const counts = `${formatCount(delta.added)} added, ${formatCount(delta.changed)} changed, ${formatCount(delta.removed)} removed`;
  const against = base == null ? '' : ` since publication ${base.publication}`;
  return [`  delta     ${counts}${against}${delta.reason === null ? '' : unusual[delta.reason]}`];
}

function warnings(summary: RunSummary): string[] {
  const { run, rehearsal, uploads, searches, adoptable, indistinct, joinedOnWord, counts, output } = summary;
  const ambiguousRecords = summary.ambiguousRecords - searches.ambiguous;
  const { refused } = summary.chunks.byState;
  return [
    ...(rehearsal
      ? ['  This is a rehearsal: the local service answered, so the predictions are not real.']
      : []),
    ...(uploads.ambiguous > 0
      ? [
          `  ${countOf(uploads.ambiguous, 'upload')} (${countOf(ambiguousRecords, 'record')}): it is unknown whether ${uploads.ambiguous === 1 ? 'it was' : 'they were'} accepted; ${resubmissionText(uploads)}.`,
        ]
      : []),
    ...(searches.answered > 0
      ? [
          `  ${countOf(searches.answered, 'failed record')} searched one by one; each is paid for as a record.`,
        ]
      : []),
    ...(searches.ambiguous > 0
      ? [
          `  ${countOf(searches.ambiguous, 'failed record')} may have been searched and paid for, but no answer was received; they are not searched again.`,
        ]
      : []),
    ...adoptable.map((one) => `  chunk ${one.chunk} was possibly accepted; ${adoptHint(run, one)}`),
    ...summary.lost.map((one) => `  ${lostFolioText(run, one)}`),
    ...outputProblem(summary),
    ...(refused > 0
      ? [
          `  ${countOf(refused, 'record')} refused by the service, one by one: FAILED with RECORD_REFUSED, not paid for.`,
        ]
      : []),
    ...(indistinct > 0
      ? [
          `  ${countOf(indistinct, 'record')} have equal echoed columns but different results; which result belongs to which record is unknown.`,
        ]
      : []),
    ...(joinedOnWord === null ? [] : [`  ${joinedOnWord}.`]),
    ...(counts.rejected > 0 && output !== null
      ? [`  ${countOf(counts.rejected, 'record')} rejected, see ${output.path}.rejects.csv`]
      : []),
  ];
}

function resubmissionText({ ambiguous, resubmitted }: RunSummary['uploads']): string {
  if (resubmitted === 0) return 'not sent again, perhaps paid in vain';
  if (resubmitted >= ambiguous) return 'sent again, perhaps paid twice';
  return `${formatCount(resubmitted)} sent again, perhaps paid twice, and the others perhaps paid in vain`;
}

/** Says why the exit code is 3 (too many FAILED records, UNPROCESSED records or both), and names the next command. */
function whyPartial({ run, counts }: RunSummary, { tolerate, mayRetry }: SummaryTerms): string[] {
  const { read, failed, unprocessed, rejected } = counts;
  const records = read - rejected;
  const isTooMany = !isTolerated(failed, records, tolerate);
  const reasons = [
    ...(isTooMany ? [failureText(failed, records, tolerate)] : []),
    ...(unprocessed > 0
      ? [`${countOf(unprocessed, 'record')} ${unprocessed === 1 ? 'is' : 'are'} unprocessed`]
      : []),
  ];
  // The config may have changed since the publication.
  if (reasons.length === 0) reasons.push('more failed than failures.tolerate allowed when it was published');
  return [
    `  Exit 3: ${reasons.join('; ')}`,
    ...(failed > 0 && mayRetry && (isTooMany || unprocessed === 0)
      ? [`  next: foliopipe retry ${run} sends failed records once more (paid again)`]
      : []),
  ];
}

/** Warns if the published output is no longer at its path. */
function outputProblem({ run, output }: RunSummary): string[] {
  if (output === null || output.inPlace) return [];
  const { path, heldBy } = output;
  if (heldBy !== null) return [`  ${path} now holds publication ${heldBy.publication} of run ${heldBy.run}.`];
  return [`  The output is missing or was changed; write it again with: foliopipe publish ${run}`];
}
