/** The summary of a run as text. */
import {
  abandonedText,
  adoptHint,
  enoughTolerance,
  exceededReasons,
  isTolerated,
  judgedCounts,
  type LoadReport,
  lostFolioText,
  type MissingLoad,
  type RunSummary,
} from '../../pipelines/index.js';
import { countOf, formatBytes, formatCount, formatShare } from '../quantities.js';
import { escapeUnprintable } from '../text.js';
import { runReuseLines } from './reuse-text.js';

export interface SummaryTerms {
  /** `failures.tolerate` of the current config: a share from 0 to 1. */
  readonly tolerate: number;
  /** Whether `foliopipe retry` can find the run: false in a rehearsal. */
  readonly mayRetry: boolean;
}

export function summaryText(summary: RunSummary, terms: SummaryTerms): string {
  const lines = [
    headline(summary),
    ...published(summary),
    ...warnings(summary),
    ...(summary.exitCode === 3 ? whyPartial(summary, terms) : []),
    ...whyWithheld(summary, terms),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(summary: RunSummary): string {
  const { run, found, state, exitCode, chunks, rehearsal, publication, publishedAgain, released } = summary;
  const what = rehearsal ? `rehearsal ${run}` : `run ${run}`;
  if (exitCode === 8)
    return `${what} was stopped by its deadline: what is done is published, and the same command continues it`;
  if (state === 'withheld' && found === 'done') return `${what} is still withheld; nothing was sent`;
  if (state === 'withheld') return `${what} is complete, and its output is withheld`;
  if (state !== 'done')
    return `${what}: ${countOf(chunks.byState.submitted, 'open folio')}; go on with: foliopipe collect`;
  if (released !== null)
    return `${what} was withheld; nothing was sent. It is published now, as publication ${publication}: ${released}`;
  if (publishedAgain !== null)
    return `${what} is done already; nothing was sent. It was published again, as publication ${publication}: ${publishedAgain}`;
  if (found === 'done')
    return `${what} is done already; nothing was sent. --new starts over${rehearsal ? '' : ' and pays again'}`;
  if (isNothingSent(summary)) return `${what} is done; every answer was known, and nothing was sent`;
  return `${what} is done`;
}

/** Whether every record takes an answer that was known, and no failed one was sent again. */
function isNothingSent({ origins, outdated, uploads, searches }: RunSummary): boolean {
  const requests = uploads.accepted + uploads.ambiguous + searches.answered + searches.ambiguous;
  return outdated !== null && origins.reused.records > 0 && requests === 0;
}

function published(summary: RunSummary): string[] {
  const { output, columns, manifest, marker, publication, withheld } = summary;
  if (withheld !== null) return [stayingLine(withheld), recordsLine(summary), ...runReuseLines(summary)];
  if (output === null) return [];
  return [
    `  output    ${output.data ?? output.path} (${countOf(output.records, 'record')}, ${formatBytes(output.bytes)}), publication ${publication}`,
    recordsLine(summary),
    ...runReuseLines(summary),
    `  columns   ${columns.length === 0 ? 'none: no record was successful' : columns.map((column) => escapeUnprintable(column)).join(', ')}`,
    ...driftLines(summary),
    ...summary.unusual.map(({ text }) => `  unusual   ${text}`),
    ...deltaLines(summary),
    ...loadLines(summary),
    `  manifest  ${manifest}`,
    `  marker    ${marker}`,
  ];
}

function stayingLine({ path, inPlace }: NonNullable<RunSummary['withheld']>): string {
  return inPlace === null
    ? `  output    no publication of the pipeline is at ${path}`
    : `  output    ${path} still holds publication ${inPlace.publication} of run ${inPlace.run}`;
}

function recordsLine({ counts }: RunSummary): string {
  const { read, successful, failed, unprocessed, rejected } = counts;
  return `  records   ${formatCount(read)} read = ${formatCount(successful)} successful + ${formatCount(failed)} failed (${formatShare(failed, read - rejected)}) + ${formatCount(unprocessed)} unprocessed + ${formatCount(rejected)} rejected`;
}

const unusual = {
  first: ': the first one, so every row is added',
  'no-delta-before': ': the last publication was made without one, so every row is added',
  key: ': the last publication had another source.key, so every row is added',
  columns: ', which had other columns: every row that is in both counts as changed',
};

function driftLines({ drift }: RunSummary): string[] {
  if (drift === undefined) return [];
  const { compared, changed, columns } = drift;
  const each = Object.entries(columns).map(([column, records]) => `${column} ${formatCount(records)}`);
  const text = `${formatCount(changed)} of ${formatCount(compared)} answers that were bought again have changed`;
  return [`  drift     ${text}${each.length === 0 ? '' : `: ${each.join(', ')}`}`];
}

function loadLines({ run, load, output }: RunSummary): string[] {
  if (load === undefined) return [];
  const isOpen = load.state === 'failed' || load.state === 'pending';
  const mayLoad = isOpen && output?.heldBy == null;
  return [`  load      ${loadText(load)}${mayLoad ? `; to load it: foliopipe load ${run}` : ''}`];
}

/** Says that the newest publication of the pipeline, which is of another run than the one that is shown, is not loaded. */
export function missingLoadText(missing: MissingLoad | null): string {
  if (missing === null) return '';
  const { run } = missing;
  return `  load      of run ${run}: ${loadText(missing)}; to load it: foliopipe load ${run}\n`;
}

/** How a load ended, in one line. */
export function loadText({
  into,
  table,
  mode,
  publication,
  state,
  why,
  code,
  at,
  ...done
}: LoadReport): string {
  const place = `${table} of ${into}`;
  switch (state) {
    case 'left':
      return `publication ${publication} is not loaded into ${place}: ${why}`;
    case 'failed':
      return `publication ${publication} is not loaded into ${place}: the attempt at ${timeText(at)} failed (${code ?? 'unknown'}): ${why}`;
    case 'pending':
      return `publication ${publication} is not loaded into ${place} yet`;
    case 'already':
      return `${place} has publication ${publication} already; nothing has changed`;
    case 'loaded': {
      const { base, written, removed, added } = done;
      const what = base === null ? 'whole output' : `delta since publication ${base}`;
      const rows = `${countOf(written, 'row')} written, ${countOf(removed, 'row')} deleted`;
      const columns =
        added.length === 0 ? '' : `, ${countOf(added.length, 'column')} added: ${added.join(', ')}`;
      return `publication ${publication} is loaded into ${place} (${mode}, ${what}): ${rows}${columns}, at ${timeText(at)}`;
    }
  }
}

function timeText(at: number | null): string {
  return at === null ? 'an unknown time' : new Date(at).toISOString();
}

function deltaLines({ delta, base }: RunSummary): string[] {
  if (delta === undefined) return [];
  const counts = `${formatCount(delta.added)} added, ${formatCount(delta.changed)} changed, ${formatCount(delta.removed)} removed`;
  const against = base == null ? '' : ` since publication ${base.publication}`;
  return [`  delta     ${counts}${against}${delta.reason === null ? '' : unusual[delta.reason]}`];
}

function warnings(summary: RunSummary): string[] {
  const { run, rehearsal, uploads, searches, adoptable, indistinct, joinedOnWord, counts, manifest } =
    summary;
  const ambiguousRecords = summary.ambiguousRecords - searches.ambiguous;
  const { refused } = summary.chunks.byState;
  const skipped = summary.origins.skipped.records;
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
    ...summary.abandoned.map((one) => `  ${abandonedText(run, one)}`),
    ...outputProblem(summary),
    ...(skipped > 0
      ? [
          `  ${countOf(skipped, 'record')} blank in all sent columns: FAILED with NOTHING_TO_SEND, not sent and not paid for.`,
        ]
      : []),
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
    ...(counts.rejected > 0 && manifest !== null
      ? [
          `  ${countOf(counts.rejected, 'record')} rejected, see ${manifest.replace(/manifest\.json$/, 'rejects.csv')}`,
        ]
      : []),
  ];
}

function resubmissionText({ ambiguous, resubmitted }: RunSummary['uploads']): string {
  if (resubmitted === 0) return 'not sent again, perhaps paid in vain';
  if (resubmitted >= ambiguous) return 'sent again, perhaps paid twice';
  return `${formatCount(resubmitted)} sent again, perhaps paid twice, and the others perhaps paid in vain`;
}

/** Says why the exit code is 3 (too many FAILED records, UNPROCESSED records or both), and names the next command. */
function whyPartial(summary: RunSummary, { tolerate, mayRetry }: SummaryTerms): string[] {
  const { run, prunedAt } = summary;
  const counts = judgedCounts(summary);
  const { read, failed, unprocessed, rejected } = counts;
  const isTooMany = !isTolerated(failed, read - rejected, tolerate);
  const reasons = exceededReasons(counts, tolerate);
  // The config may have changed since the publication.
  const why =
    reasons.length === 0
      ? 'more failed than failures.tolerate allowed when it was published'
      : reasons.join('; ');
  return [
    `  Exit 3: ${why}`,
    ...(failed > 0 && mayRetry && prunedAt === null && (isTooMany || unprocessed === 0)
      ? [`  next: ${retryText(run)}`]
      : []),
  ];
}

function retryText(run: string): string {
  return `foliopipe retry ${run} sends failed records once more (paid again)`;
}

/** Says why the output is withheld, and names each command that ends this. */
function whyWithheld(summary: RunSummary, { tolerate, mayRetry }: SummaryTerms): string[] {
  const { run, withheld, prunedAt } = summary;
  if (withheld === null) return [];
  const counts = judgedCounts(summary);
  const { read, failed, unprocessed, rejected } = counts;
  const now = exceededReasons(counts, tolerate);
  // The config may have changed since the run was withheld.
  const reasons = now.length > 0 ? now : exceededReasons(counts, withheld.tolerate);
  const raised = `--set failures.tolerate=${enoughTolerance(failed, read - rejected)}`;
  const publishing = [
    ...(mayRetry ? [`foliopipe publish ${run} publishes it as it is (exit 3)`] : []),
    ...(mayRetry && failed > 0 ? [retryText(run)] : []),
    ...(unprocessed === 0
      ? [`${mayRetry ? 'foliopipe run' : 'the same command with'} ${raised} publishes it (exit 0)`]
      : []),
  ];
  const ways = prunedAt === null ? publishing : [prunedText(prunedAt)];
  return [
    `  Exit 9: ${reasons.join('; ')}; failures.onExceeded: withhold keeps such an output back`,
    ...ways.map((way, at) => `  ${at === 0 ? 'next' : 'or'}: ${way}`),
  ];
}

/** What is left to do with a run whose results were removed. */
function prunedText(prunedAt: number): string {
  const day = new Date(prunedAt).toISOString().slice(0, 10);
  return `its results were removed on ${day} (retention.results); foliopipe run --new sends its source again (paid again)`;
}

/** Warns if the published output is no longer at its path. */
function outputProblem({ run, output, prunedAt }: RunSummary): string[] {
  if (output === null || output.inPlace) return [];
  const { path, heldBy, inPlace } = output;
  if (inPlace === null)
    return [`  Whether ${path} is in place is not known: its store gives no answer (foliopipe check)`];
  if (heldBy !== null) return [`  ${path} now holds publication ${heldBy.publication} of run ${heldBy.run}.`];
  if (prunedAt !== null) return [`  The output is missing or was changed, and ${prunedText(prunedAt)}.`];
  return [`  The output is missing or was changed; write it again with: foliopipe publish ${run}`];
}
