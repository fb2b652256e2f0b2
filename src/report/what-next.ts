/** What is left to do with a run: why it did not end with exit 0, and the commands that help. */
import type { Run } from '../checkpoint/state.js';
import type { Config } from '../config/schema.js';
import { frozenOutputPath, type OutputRun, withOutputPath } from '../config/sections/output-path.js';
import { countOf, formatAmount, formatCount } from '../quantities.js';
import type { Counts } from '../types.js';
import { limitFlag } from './adoptable.js';
import { enoughTolerance, exceededReasons, isTolerated, judgedCounts, roomyTolerance } from './exit-code.js';
import { priceOf } from './origins.js';
import type { RunSummary } from './run-summary.js';

/** What a person may do now. */
export interface WhatNext {
  /** Why something must be done, such as the reason of exit 3; null if nothing is wrong. */
  readonly why: string | null;
  /** The best way first. */
  readonly ways: readonly NextWay[];
}

/** One way to go on. */
export interface NextWay {
  /** What to type; empty if nothing helps. */
  readonly command: string;
  /** What it does. */
  readonly effect: string;
}

/** The parts of the config that decide which ways there are. */
export interface NextTerms {
  /** `failures.tolerate` of the current config: a share from 0 to 1. */
  readonly tolerate: Config['failures']['tolerate'];
  /** Whether `foliopipe retry` can find the run and its output: false for what `run --rehearse` has played. */
  readonly mayRetry: boolean;
  /** Whether runs take the answers of earlier ones (`reuse.maxAge`). */
  readonly reusesAnswers: boolean;
  /** What `foliopipe retry` costs, and whether it uploads or searches. */
  readonly budget: Pick<Config['budget'], 'pricePerRecord' | 'currency'>;
  readonly rescue: Config['failures']['rescue'];
}

/** The terms of a config. @param mayRetry see `NextTerms`. */
export function nextTerms(
  { failures, budget, reuse }: Pick<Config, 'failures' | 'budget' | 'reuse'>,
  mayRetry = true,
): NextTerms {
  const reusesAnswers = reuse.maxAge > 0;
  return { tolerate: failures.tolerate, mayRetry, reusesAnswers, budget, rescue: failures.rescue };
}

/** The terms of a config for a run that somebody looks at. */
export function termsOfRun(
  config: Parameters<typeof nextTerms>[0] & Pick<Config, 'output'>,
  run: Parameters<typeof isPlayedElsewhere>[1],
): NextTerms {
  return nextTerms(config, !isPlayedElsewhere(config, run));
}

/** Whether a rehearsal has another output than the config has: a command on it would write over that one, a real one. */
export function isPlayedElsewhere(
  config: Pick<Config, 'output'>,
  run: Pick<Run, 'rehearsal' | 'source'> & OutputRun,
): boolean {
  const own = frozenOutputPath(run);
  const isSample = run.source.limit !== undefined;
  return run.rehearsal && !isSample && own !== null && own !== withOutputPath(config, run).output.path;
}

type Ended = Pick<
  RunSummary,
  | 'run'
  | 'state'
  | 'exitCode'
  | 'counts'
  | 'origins'
  | 'withheld'
  | 'prunedAt'
  | 'chunks'
  | 'searches'
  | 'rehearsal'
  | 'sample'
  | 'confirmed'
  | 'adoptable'
  | 'lost'
  | 'abandoned'
>;

/** Says why something must be done with a run, and what. */
export function whatNext(summary: Ended, terms: NextTerms): WhatNext {
  if (summary.withheld !== null) return afterWithheld(summary, summary.withheld.tolerate, terms);
  if (summary.state === 'done') return summary.exitCode === 3 ? afterPartial(summary, terms) : nothing;
  if (summary.state === 'superseded') return nothing;
  return { why: null, ways: [goOn(summary)] };
}

const nothing: WhatNext = { why: null, ways: [] };

/**
 * Asks for the failed records of a run once more; undefined if nothing would be sent. Reused and blank records, and those
 * of a confirmed run, are not sent. Refused ones are searched, but not uploaded. A run searches its failed records only
 * once.
 */
export function retryWay(
  { run, origins, chunks, searches, prunedAt, rehearsal, confirmed }: Ended,
  { mayRetry, budget, rescue }: NextTerms,
): NextWay | undefined {
  const bySearch = rescue === 'search' && searches.answered + searches.ambiguous === 0;
  const records = origins.sent.failed - (bySearch ? 0 : chunks.byState.refused);
  if (!mayRetry || confirmed || prunedAt !== null || records <= 0) return undefined;
  const paid = rehearsal ? '' : paidText(records, budget);
  const what = countOf(records, 'failed record');
  const does = bySearch ? `searches up to ${what} one by one` : `sends ${what} once more`;
  const { failed: earlier } = origins.reused;
  const left = earlier === 0 ? '' : `, and not the ${formatCount(earlier)} of earlier nights`;
  const way = rescue === 'search' && !bySearch ? ' --by upload' : '';
  return { command: `foliopipe retry ${run}${way}`, effect: `${does}${paid}${left}` };
}

function paidText(records: number, { pricePerRecord, currency }: NextTerms['budget']): string {
  const amount = priceOf(records, pricePerRecord);
  return ` (paid again${amount === null ? '' : `: ${formatAmount(amount)} ${currency}`})`;
}

/**
 * Sends only the unprocessed records: a new run takes the answers that this one has. It does not take the failures of a
 * withheld run.
 */
function sendUnprocessed(
  { counts, prunedAt, rehearsal, withheld, adoptable, lost, abandoned }: Ended,
  { mayRetry, reusesAnswers, budget }: NextTerms,
): NextWay | undefined {
  const { unprocessed } = counts;
  if (!mayRetry || prunedAt !== null || unprocessed === 0) return undefined;
  const failed = withheld === null ? 0 : counts.failed;
  const what =
    failed === 0
      ? countOf(unprocessed, 'unprocessed record')
      : `${formatCount(unprocessed)} unprocessed and ${countOf(failed, 'failed record')}`;
  const others =
    counts.successful + counts.failed - failed === 0 ? '' : ', and the others keep their answers';
  const paid = rehearsal ? '' : paidText(unprocessed + failed, budget);
  const mayAdopt = adoptable.length + lost.length + abandoned.length > 0;
  const free = mayAdopt ? '; what adopt binds first is not sent again' : '';
  return {
    command: `foliopipe run --new${reusesAnswers ? '' : ' --set reuse.maxAge=90d'}`,
    effect: `sends up to ${what} once more${others}${paid}${free}`,
  };
}

/** Sends the failed records, with those of earlier nights, which `retryWay` leaves out. */
function sendOldFailures(
  { origins, rehearsal }: Ended,
  { mayRetry, reusesAnswers, budget }: NextTerms,
): NextWay | undefined {
  const { failed: earlier } = origins.reused;
  if (!mayRetry || !reusesAnswers || earlier === 0) return undefined;
  const records = earlier + origins.sent.failed;
  const paid = rehearsal ? '' : paidText(records, budget);
  return {
    command: 'foliopipe run --new --set reuse.failedAge=0',
    effect: `sends ${countOf(records, 'failed record')} once more, those of earlier nights too${paid}`,
  };
}

/** Says that an output is no longer in place, and how to get it. */
export function missingOutputText(
  { run, prunedAt }: Pick<Ended, 'run' | 'prunedAt'>,
  terms: NextTerms,
): string {
  const what = 'The output is missing or was changed';
  if (prunedAt !== null) return `${what}, and ${prunedText(prunedAt, terms)}.`;
  return `${what}; ${terms.mayRetry ? `write it again with: foliopipe publish ${run}` : PLAY_AGAIN}`;
}

/** How to get the output of a rehearsal that no command reaches with the config. */
const PLAY_AGAIN = 'the same run --rehearse with --new makes a new output';

/** What is left to do with a run whose results were removed. */
function prunedText(prunedAt: number, { mayRetry }: Pick<NextTerms, 'mayRetry'>): string {
  const day = new Date(prunedAt).toISOString().slice(0, 10);
  const way = mayRetry
    ? 'foliopipe run --new sends each record again that has no stored answer (reuse.maxAge), and pays for it'
    : PLAY_AGAIN;
  return `its results were removed on ${day} (retention.results, or runs prune); ${way}`;
}

function goOn({ run, chunks, state, sample }: Ended): NextWay {
  const isWaiting = state === 'open' && chunks.byState.submitted > 0;
  const limit = limitFlag(sample);
  return {
    command: `foliopipe run${limit}`,
    effect: `goes on with it${isWaiting ? `, or foliopipe collect${limit} fetches what was sent` : ''}; foliopipe status --run ${run} shows whether a process does so already`,
  };
}

/** Exit 3: too many FAILED records, UNPROCESSED records, or both. */
function afterPartial(summary: Ended, terms: NextTerms): WhatNext {
  const { tolerate } = terms;
  const counts = judgedCounts(summary);
  const { read, failed, unprocessed, rejected } = counts;
  const isTooMany = !isTolerated(failed, read - rejected, tolerate);
  const reasons = exceededReasons(counts, tolerate);
  const retry = isTooMany || unprocessed === 0 ? retryWay(summary, terms) : undefined;
  return {
    // The config may have changed since the publication.
    why:
      reasons.length === 0
        ? 'more failed than failures.tolerate allowed when it was published'
        : reasons.join('; '),
    ways: waysOf(summary, counts, [
      retry,
      acceptWay(summary, counts, isTooMany, terms),
      isTooMany ? sendOldFailures(summary, terms) : undefined,
      sendUnprocessed(summary, terms),
    ]),
  };
}

/** Publishes the run as one with exit 0; undefined where it would end with exit 3 again. */
function acceptWay(
  { run, prunedAt, confirmed }: Ended,
  { read, failed, unprocessed, rejected }: Counts,
  isTooMany: boolean,
  { mayRetry }: NextTerms,
): NextWay | undefined {
  if (!mayRetry || confirmed || prunedAt !== null || unprocessed > 0) return undefined;
  const raised = isTooMany ? ` --set failures.tolerate=${enoughTolerance(failed, read - rejected)}` : '';
  return {
    command: `foliopipe publish ${run}${raised}`,
    effect: 'accepts so many: the output is published again with exit 0, and nothing is paid',
  };
}

function waysOf(
  { sample }: Ended,
  counts: Counts,
  ways: readonly (NextWay | undefined)[],
): readonly NextWay[] {
  return sample !== null ? [afterSample(counts)] : ways.filter((way) => way !== undefined);
}

/** What to do after a sample with failures. Nobody needs the answers of its failed records. */
function afterSample({ read, successful, failed, rejected }: Counts): NextWay {
  if (successful === 0) {
    return {
      command: 'foliopipe plan',
      effect: 'shows the first records as they are sent: does upload.columns name the right columns?',
    };
  }
  return {
    command: `foliopipe run --set failures.tolerate=${roomyTolerance(failed, read - rejected)}`,
    effect: '(leave --limit out) does the whole source, if so many records may fail',
  };
}

/** Exit 9. @param then `failures.tolerate` when the run was withheld. */
function afterWithheld(summary: Ended, then: number, terms: NextTerms): WhatNext {
  const { tolerate, mayRetry } = terms;
  const { run, prunedAt } = summary;
  const counts = judgedCounts(summary);
  const { read, failed, unprocessed, rejected } = counts;
  // While records are unprocessed, fewer failed ones do not release the output.
  const isTooMany = !isTolerated(failed, read - rejected, tolerate);
  const retry = isTooMany || unprocessed === 0 ? retryWay(summary, terms) : undefined;
  const now = exceededReasons(counts, tolerate);
  // The config may have changed since the run was withheld.
  const reasons = now.length > 0 ? now : exceededReasons(counts, then);
  const raised = `--set failures.tolerate=${enoughTolerance(failed, read - rejected)}`;
  const publishing = [
    mayRetry ? { command: `foliopipe publish ${run}`, effect: 'publishes it as it is (exit 3)' } : undefined,
    retry,
    sendUnprocessed(summary, terms),
    unprocessed === 0
      ? {
          command: `${mayRetry ? 'foliopipe run' : 'the same run --rehearse with'} ${raised}`,
          effect: 'publishes it (exit 0)',
        }
      : undefined,
  ].filter((way) => way !== undefined);
  return {
    why: `${reasons.join('; ')}; failures.onExceeded: withhold keeps such an output back`,
    ways: prunedAt === null ? publishing : [{ command: '', effect: prunedText(prunedAt, terms) }],
  };
}
