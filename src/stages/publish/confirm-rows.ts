/**
 * Ends a run whose rows went to a sink of the embedding program, in place of publishing an output: the run is done, and
 * its answers are kept for later runs.
 */
import type { Checkpoint, Confirmed } from '../../checkpoint/checkpoint.js';
import { ConfigError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { judgedCounts, runExitCode } from '../../report/exit-code.js';
import type { RunContext } from '../../run-context.js';
import { noneGiven } from '../merge/merge-results.js';
import { checkAllFiles } from '../read-source.js';
import { checkOneService } from '../submit/check-replies.js';
import { checkBalance } from './check-balance.js';
import { type KeepAnswersNeeds, keepAnswers, removeReplaced } from './keep-answers.js';
import { measureDrift } from './measure-drift.js';
import { removeUnneeded } from './waiting-files.js';

type ConfirmRowsNeeds = KeepAnswersNeeds &
  Pick<RunContext, 'clock' | 'given' | 'output'> & {
    readonly checkpoint: Pick<Checkpoint, 'lastRound' | 'recordConfirmed' | 'replyKinds' | 'run'>;
  };

/**
 * Commits that the run is done, together with how its records have ended and the answers that were bought. Each step
 * before the commit can be repeated. If a kill prevents the removals after it, a later command does them.
 * @throws ConfigError `ROWS_NOT_GIVEN` while rows are missing; UntrustedError when the run does not balance; SourceError
 *   when the source has changed.
 */
export async function confirmRows(run: ConfirmRowsNeeds): Promise<void> {
  const { counts: merged, columns, reasons } = await checkAllGiven(run);
  await checkOneService(run.checkpoint, run.id);
  const { counts, origins } = await checkBalance(run, merged);
  await checkAllFiles(run);
  const { output, failures } = run.config;
  // A list of differences would be a file beside the output, and there is no output.
  const drift = await measureDrift(
    { ...run, config: { ...run.config, output: { ...output, drift: false } } },
    columns,
  );
  const kept = await keepAnswers(run, merged);
  const confirmed: Confirmed = {
    counts,
    origins,
    exitCode: runExitCode(judgedCounts({ counts, origins }), failures.tolerate),
    resultColumns: columns,
    reasons: reasons?.top() ?? [],
    ...(drift && { drift }),
  };
  await run.checkpoint.recordConfirmed(run.id, confirmed, run.clock.now(), kept?.segment);
  await removeReplaced(run, kept);
  await removeUnneeded(run);
}

/**
 * @returns the counts of the rows that were taken from this process, which are those of all records.
 * @throws ConfigError `ROWS_NOT_GIVEN`.
 */
export async function checkAllGiven(
  run: Pick<RunContext, 'id' | 'source' | 'given'> & {
    readonly checkpoint: Pick<Checkpoint, 'lastRound' | 'run'>;
  },
): Promise<NonNullable<RunContext['given']['rows']>> {
  const { rows } = run.given;
  const all = run.source.records - run.source.rejected;
  const given =
    rows === undefined ? 0 : rows.counts.successful + rows.counts.failed + rows.counts.unprocessed;
  const row = (await run.checkpoint.run(run.id))!;
  const isRoundOpen = (await run.checkpoint.lastRound(run.id)) > row.round;
  if (given === all && row.chunks !== null && !isRoundOpen) return rows ?? noneGiven;
  const left = isRoundOpen
    ? 'failed records are still being sent again'
    : `${countOf(all - given, 'row')} of ${countOf(all, 'record')} ${all - given === 1 ? 'was' : 'were'} not taken in this process`;
  throw new ConfigError('ROWS_NOT_GIVEN', `run ${run.id} cannot be confirmed: ${left}`, {
    hint: 'read enrichedRecords(run) or enrichedBytes(run) to its end, then confirm; the rows that are answered cost nothing again',
    facts: { run: run.id, given, left: all - given },
  });
}
