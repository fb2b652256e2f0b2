/** The warnings of a run's summary: what may be paid twice or in vain, what needs a person, what the output lacks. */
import { helpTexts, missingOutputText, type NextTerms, type RunSummary } from '../../../pipelines/index.js';
import { countOf, formatCount } from '../../quantities.js';
import { presentTexts } from '../../text.js';
import { sentence } from './summary-field.js';

export function warningLines(summary: RunSummary, terms: NextTerms): string[] {
  return warnings(summary, terms).flatMap(sentence);
}

function warnings(summary: RunSummary, terms: NextTerms): string[] {
  const { rehearsal, uploads, searches, indistinct, joinedOnWord, counts, manifest } = summary;
  const ambiguousRecords = summary.ambiguousRecords - searches.ambiguous;
  const { refused } = summary.chunks.byState;
  const skipped = summary.origins.skipped.records;
  return presentTexts([
    rehearsal && 'This is a rehearsal: the local service answered, so the predictions are not real.',
    summary.sample !== null &&
      `This is a sample: only the first ${countOf(counts.read, 'record')} of the source.${summary.exitCode === 0 ? ' foliopipe run (leave --limit out) does all of it.' : ''}`,
    uploads.ambiguous > 0 &&
      `${countOf(uploads.ambiguous, 'upload')} (${countOf(ambiguousRecords, 'record')}): it is unknown whether ${uploads.ambiguous === 1 ? 'it was' : 'they were'} accepted; ${resubmissionText(uploads)}.`,
    uploads.ambiguous === 0 &&
      uploads.resubmitted > 0 &&
      `${countOf(uploads.resubmitted, 'upload')} sent again before the reply to an earlier one came: both were accepted, so the chunk is paid twice.`,
    searches.ambiguous > 0 &&
      `${countOf(searches.ambiguous, 'failed record')} may have been searched and paid for, but no answer was received; ${searches.ambiguous === 1 ? 'it is' : 'they are'} not searched again.`,
    ...chunkTexts(summary),
    ...outputProblem(summary, terms),
    skipped > 0 &&
      `${countOf(skipped, 'record')} blank in all sent columns: FAILED with NOTHING_TO_SEND, not sent and not paid for.`,
    refused > 0 &&
      `${countOf(refused, 'record')} refused by the service, one by one: FAILED with RECORD_REFUSED, not paid for.`,
    indistinct > 0 &&
      `${countOf(indistinct, 'record')} have equal echoed columns but different results; which result belongs to which record is unknown.`,
    joinedOnWord !== null && `${joinedOnWord}.`,
    counts.rejected > 0 &&
      manifest !== null &&
      `${countOf(counts.rejected, 'record')} rejected, see ${manifest.replace(/manifest\.json$/, 'rejects.csv')}`,
  ]);
}

/** What a person can do about single chunks. Names only the first ones, as the summary does. */
export function chunkTexts(
  summary: Pick<RunSummary, 'run' | 'sample' | 'adoptable' | 'lost' | 'abandoned' | 'chunks'>,
): readonly string[] {
  const {
    run,
    chunks: { byState },
  } = summary;
  const named = helpTexts(summary);
  const more = byState.ambiguous + byState.unprocessed - named.length;
  if (named.length === 0 || more <= 0) return named;
  return [
    ...named,
    `and ${countOf(more, 'more chunk')} without an answer: foliopipe report ${run} lists them on a page`,
  ];
}

function resubmissionText({ ambiguous, resubmitted }: RunSummary['uploads']): string {
  if (resubmitted === 0) return 'not sent again, perhaps paid in vain';
  if (resubmitted >= ambiguous) return 'sent again, perhaps paid twice';
  return `${formatCount(resubmitted)} sent again, perhaps paid twice, and the others perhaps paid in vain`;
}

/** Warns if the published output is no longer at its path. */
function outputProblem(summary: RunSummary, terms: NextTerms): string[] {
  const { output } = summary;
  if (output === null || output.inPlace) return [];
  const { path, heldBy, inPlace } = output;
  if (inPlace === null)
    return [`Whether ${path} is in place is not known: its store gives no answer (foliopipe check)`];
  if (heldBy !== null) return [`${path} now holds publication ${heldBy.publication} of run ${heldBy.run}.`];
  return [missingOutputText(summary, terms)];
}
