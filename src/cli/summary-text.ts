/** What a run has come to, for a person. */
import { adoptHint, type RunSummary } from '../../pipelines/index.js';
import { countOf, formatBytes, formatCount, formatShare } from './format.js';

/** @param goOn the command to type where the run is not done. */
export function summaryText(summary: RunSummary, goOn: string): string {
  const lines = [headline(summary, goOn), ...published(summary), ...warnings(summary)];
  return `${lines.join('\n')}\n`;
}

function headline(summary: RunSummary, goOn: string): string {
  const { run, found, state, exitCode, chunks, rehearsal, publication, publishedAgain } = summary;
  const what = rehearsal ? `rehearsal ${run}` : `run ${run}`;
  if (exitCode === 8)
    return `${what} was stopped by its deadline: what is done is published, and the same command goes on later`;
  if (state !== 'done')
    return `${what}: ${countOf(chunks.byState.submitted, 'open folio')}; go on with: ${goOn}`;
  if (publishedAgain !== null)
    return `${what} is done already; nothing was sent. It is published again, as publication ${publication}: ${publishedAgain}`;
  if (found === 'done')
    return `${what} is done already; nothing was sent. --new does it afresh and pays again`;
  return `${what} is done`;
}

function published({ counts, output, columns, manifest, marker, publication }: RunSummary): string[] {
  if (output === null) return [];
  const { read, successful, failed, unprocessed, rejected } = counts;
  return [
    `  output    ${output.path} (${countOf(output.records, 'record')}, ${formatBytes(output.bytes)}), publication ${publication}`,
    `  records   ${formatCount(read)} read = ${formatCount(successful)} successful + ${formatCount(failed)} failed (${formatShare(failed, read - rejected)}) + ${formatCount(unprocessed)} unprocessed + ${formatCount(rejected)} rejected`,
    `  columns   ${columns.length === 0 ? 'none: no record was successful' : columns.join(', ')}`,
    `  manifest  ${manifest}`,
    `  marker    ${marker}`,
  ];
}

function warnings(summary: RunSummary): string[] {
  const { run, rehearsal, uploads, searches, adoptable, indistinct, counts, output, exitCode } = summary;
  const ambiguousRecords = summary.ambiguousRecords - searches.ambiguous;
  const { refused } = summary.chunks.byState;
  return [
    ...(rehearsal
      ? ['  This is a rehearsal: the local service answered, so the predictions are not real.']
      : []),
    ...(uploads.ambiguous > 0
      ? [
          `  ${countOf(uploads.ambiguous, 'upload')} (${countOf(ambiguousRecords, 'record')}) may have been accepted without our knowing, ${uploads.resubmitted} sent again: those may have been paid for twice.`,
        ]
      : []),
    ...(searches.answered > 0
      ? [
          `  ${countOf(searches.answered, 'failed record')} searched one by one; each is paid for as a record.`,
        ]
      : []),
    ...(searches.ambiguous > 0
      ? [
          `  ${countOf(searches.ambiguous, 'failed record')} may have been searched and paid for without our knowing the answer; they are not asked for again.`,
        ]
      : []),
    ...adoptable.map((one) => `  chunk ${one.chunk} was possibly accepted; ${adoptHint(run, one)}`),
    ...(output?.inPlace === false
      ? [`  The output is not there as it was published; write it again with: foliopipe publish ${run}`]
      : []),
    ...(refused > 0
      ? [
          `  ${countOf(refused, 'record')} refused by the service, one by one: FAILED with RECORD_REFUSED, not paid for.`,
        ]
      : []),
    ...(indistinct > 0
      ? [
          `  ${countOf(indistinct, 'record')} are equal in all that comes back of what was sent but got different results; which got which is not known.`,
        ]
      : []),
    ...(counts.rejected > 0 && output !== null
      ? [`  ${countOf(counts.rejected, 'record')} rejected, see ${output.path}.rejects.csv`]
      : []),
    ...(exitCode === 3
      ? ['  Exit 3: more records failed than failures.tolerate allows, or some are unprocessed.']
      : []),
  ];
}
