/** The summary of a run as text. */
import {
  type Drift,
  type NextTerms,
  type NextWay,
  type RunSummary,
  retryWay,
  whatNext,
} from '../../../pipelines/index.js';
import { countOf, formatBytes, formatCount } from '../../quantities.js';
import { escapeUnprintable, presentTexts } from '../../text.js';
import { loadText } from './load-text.js';
import { field } from './summary-field.js';
import { recordLines, timeLines } from './summary-figures.js';
import { warningLines } from './summary-warnings.js';

export function summaryText(summary: RunSummary, terms: NextTerms): string {
  const lines = [
    headline(summary, terms),
    ...published(summary),
    ...warningLines(summary, terms),
    ...whyNotWell(summary, terms),
    ...afterSuccess(summary, terms),
  ];
  return `${lines.join('\n')}\n`;
}

function headline(summary: RunSummary, { reusesAnswers }: NextTerms): string {
  const { run, found, state, exitCode, chunks, rehearsal, sample } = summary;
  const { publication, publishedAgain, released } = summary;
  const what = `${sample === null ? '' : `sample (--limit ${sample}), `}${rehearsal ? `rehearsal ${run}` : `run ${run}`}`;
  if (exitCode === 8)
    return `${what} was stopped by its deadline: what is done is published, and the same command continues it`;
  if (state === 'withheld' && found === 'done') return `${what} is still withheld; nothing was sent`;
  if (state === 'withheld') return `${what} is complete, and its output is withheld`;
  if (state !== 'done') return `${what}: ${foliosText(chunks)}; go on with: foliopipe collect`;
  if (released !== null)
    return `${what} was withheld; nothing was sent. It is published now, as publication ${publication}: ${released}`;
  if (publishedAgain !== null)
    return `${what} is done already; nothing was sent. It was published again, as publication ${publication}: ${publishedAgain}`;
  if (found === 'done') {
    const paid = reusesAnswers ? ' and pays for records without a stored answer' : ' and pays again';
    return `${what} is done already; nothing was sent. --new starts over${rehearsal ? '' : paid}`;
  }
  if (isNothingSent(summary)) return `${what} is done; every answer was known, and nothing was sent`;
  return `${what} is done`;
}

function foliosText({ byState }: RunSummary['chunks']): string {
  const finished = byState.finished === 0 ? '' : `, ${countOf(byState.finished, 'finished one')}`;
  return `${countOf(byState.submitted, 'open folio')}${finished}`;
}

/** Whether every record has taken a known answer, and no failed record was sent again. */
function isNothingSent({ origins, outdated, uploads, searches }: RunSummary): boolean {
  const requests = uploads.accepted + uploads.ambiguous + searches.answered + searches.ambiguous;
  return outdated !== null && origins.reused.records > 0 && requests === 0;
}

function published(summary: RunSummary): string[] {
  const { output, columns, manifest, marker, publication, withheld } = summary;
  if (withheld !== null) return [stayingLine(withheld), ...recordLines(summary), ...timeLines(summary)];
  if (summary.confirmed) {
    const output = `  output    none: a program took the rows and confirmed them; to write a file: foliopipe publish ${summary.run}`;
    return [output, ...recordLines(summary), ...timeLines(summary), ...driftLines(summary)];
  }
  if (output === null) return [];
  return [
    ...field('output', [
      output.data ?? output.path,
      ...`(${countOf(output.records, 'record')}, ${formatBytes(output.bytes)}), publication ${publication}`.split(
        ' ',
      ),
    ]),
    ...recordLines(summary),
    ...timeLines(summary),
    ...columnLines(columns),
    ...driftLines(summary),
    ...summary.unusual.flatMap(({ text }) => field('unusual', text)),
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

function columnLines(columns: readonly string[]): string[] {
  const names = columns.map((column) => escapeUnprintable(column)).join(', ');
  return field('columns', names === '' ? 'none: no record was successful' : names);
}

const unusual = {
  first: ': the first one, so every row is added',
  'no-delta-before': ': the last publication was made without one, so every row is added',
  key: ': the last publication had another source.key, so every row is added',
  columns: ', which had other columns: every row that is in both counts as changed',
};

function driftLines({ drift, delta }: RunSummary): string[] {
  return presentTexts([
    drift && driftLine(drift, 'answers that were bought again have changed'),
    delta?.drift &&
      driftLine(delta.drift, 'records that were sent have another answer than their key had before'),
  ]);
}

function driftLine({ compared, changed, columns }: Drift, what: string): string {
  const each = Object.entries(columns).map(
    ([column, records]) => `${escapeUnprintable(column)} ${formatCount(records)}`,
  );
  const text = `${formatCount(changed)} of ${formatCount(compared)} ${what}`;
  return `  drift     ${text}${each.length === 0 ? '' : `: ${each.join(', ')}`}`;
}

function loadLines({ run, load, output }: RunSummary): string[] {
  if (load === undefined) return [];
  const isOpen = load.state === 'failed' || load.state === 'pending';
  const mayLoad = isOpen && output?.heldBy == null;
  return [`  load      ${loadText(load)}${mayLoad ? `; to load it: foliopipe load ${run}` : ''}`];
}

function deltaLines({ delta, base }: RunSummary): string[] {
  if (delta === undefined) return [];
  const counts = `${formatCount(delta.added)} added, ${formatCount(delta.changed)} changed, ${formatCount(delta.removed)} removed`;
  const against = base == null ? '' : ` since publication ${base.publication}`;
  return [`  delta     ${counts}${against}${delta.reason === null ? '' : unusual[delta.reason]}`];
}

/** Says why the exit code is 3 or 9, and names each command that helps. */
function whyNotWell(summary: RunSummary, terms: NextTerms): string[] {
  const { why, ways } = whatNext(summary, terms);
  if (why === null) return [];
  return [
    `  Exit ${summary.exitCode}: ${why}`,
    ...ways.map((way, at) => `  ${at === 0 ? 'next' : 'or'}: ${wayText(way)}`),
  ];
}

/** What may be typed after a run that is done, or stopped by its deadline. */
function afterSuccess(summary: RunSummary, terms: NextTerms): string[] {
  const { run, state, exitCode, found, sample, output, load } = summary;
  if (exitCode === 8) return whatNext(summary, terms).ways.map((way) => `  next: ${wayText(way)}`);
  // For a sample, a lost output or a failed load, an earlier line says what is next.
  const isOpen = output?.inPlace === false || load?.state === 'failed' || load?.state === 'pending';
  if (sample !== null || state !== 'done' || exitCode !== 0 || isOpen) return [];
  const retry = found === 'done' ? undefined : retryWay(summary, terms);
  if (summary.unusual.length > 0 && terms.mayRetry) {
    return presentTexts([
      `  next: foliopipe report ${run} shows it beside the nights before`,
      retry !== undefined && `  or: ${wayText(retry)}`,
    ]);
  }
  if (retry !== undefined) return [`  next: nothing; or ${wayText(retry)}`];
  // `foliopipe report` would not find a rehearsal, which has a state of its own.
  return [`  next: nothing${terms.mayRetry ? `; foliopipe report ${run} makes a page of it` : ''}`];
}

function wayText({ command, effect }: NextWay): string {
  return command === '' ? effect : `${command} ${effect}`;
}
