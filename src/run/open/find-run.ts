/** Decides which run a command works on: the unfinished one, a done one, or a new one (docs/resume.md). */

import type { Run } from '../../checkpoint/checkpoint.js';
import { isCompleted } from '../../checkpoint/walk-run.js';
import { checkFrozenConfig, frozenConfig, isOutputValue } from '../../config/frozen-config.js';
import { withOutputPath } from '../../config/sections/output-path.js';
import { ConfigError, type SourceError } from '../../errors.js';
import { countOf } from '../../quantities.js';
import { checkReplaced, refuseBehind } from '../../report/output-owner.js';
import { isWithinLimit } from '../../source/reject-limit.js';
import { removeWaitingFiles } from '../../stages/publish/waiting-files.js';
import { type CheckSourceOptions, checkSource } from '../check/check-source.js';
import { removeUnneededCopies } from '../prune-runs.js';
import type { RunOptions } from '../run-options.js';
import { beginRun, newRun, supersede } from './begin-run.js';
import { watchRecords } from './choose-records.js';
import { continueRun, type ResumeContext } from './continue-run.js';
import { asBegun, checkAgain, findDoneRun, prunedError, withCurrentFiles } from './done-run.js';
import { checkGivenUp, checkKept, findGivenUp, hasPaidNothing, isMovedUnpaid } from './given-up-run.js';
import { namedRun } from './named-run.js';

export interface FoundRun {
  readonly run: Run;
  /**
   * `publishing`: its output must be put in place first, even if source or config have changed. `outdated`: its source
   * has changed, and it must be collected and superseded (`source.onChange`). `done`: complete, and published or
   * withheld.
   */
  readonly found: 'new' | 'continued' | 'publishing' | 'outdated' | 'done';
}

/**
 * @throws ConfigError when a frozen value differs, when a run with other values has done the source, or when a new run
 *   would give up open paid requests and `yes` is not set; SourceError when the source of the unfinished run has changed;
 *   GuardError `STATE_BEHIND`.
 */
export async function findRun(given: ResumeContext, options: RunOptions): Promise<FoundRun> {
  const { checkpoint, output, service, signal, clock } = given;
  const frozen = frozenConfig(given.config, service);
  const begun = newRun(given.config, frozen, clock.now());
  const { limit } = options;
  const open = await checkpoint.unfinishedRun(begun.pipeline, limit);
  if (open !== undefined) await verifyPaid(given, open);
  const isDropped = open !== undefined && (await dropMoved(given, options, open, frozen));
  const unfinished = isDropped ? undefined : open;
  if (unfinished?.state === 'publishing') {
    given.logger.info(
      { run: unfinished.id },
      `publishing of run ${unfinished.id} was interrupted and goes on`,
    );
    const { path } = unfinished.publication!.output;
    await refuseBehind(output, path, begun.pipeline, checkpoint, { ...options, logger: given.logger });
    await given.prepareOutput(path);
    return { run: unfinished, found: 'publishing' };
  }
  if (options.existing !== undefined) return findExisting(given, options, options.existing);
  const reading = readingOptions(given, options, unfinished);
  const goesOn = unfinished !== undefined && !options.fresh;
  if (limit !== undefined) {
    given.logger.info(
      { limit, output: given.config.output.path },
      `a sample: only the first ${countOf(limit, 'record')} of the source ${limit === 1 ? 'is' : 'are'} checked, sent and published`,
    );
  }
  const config = withOutputPath(given.config, goesOn ? unfinished : begun);
  const context = { ...given, config };
  if (goesOn) {
    const hasPaid = !(await hasPaidNothing(context, unfinished));
    checkFrozenConfig(unfinished.frozen, frozen, { id: unfinished.id, hasPaid });
    const source = await checkSource({ config, output, signal }, reading, false, unfinished);
    const changed = source.sha256 !== unfinished.source.sha256;
    if (changed && config.source.onChange === 'supersede') {
      // A source that may not begin a run does not end one either: this check says why.
      if (!isWithinLimit(source, config.source.maxRejected)) {
        await checkSource({ config, output, signal }, reading, true);
      }
      return { run: unfinished, found: 'outdated' };
    }
    const run = await continueRun(context, unfinished, asBegun(unfinished, source), options);
    return { run, found: 'continued' };
  }
  const givenUp = unfinished && (await findGivenUp(context, options, unfinished, null));
  checkGivenUp(givenUp, options);
  const latest = await checkpoint.latestRun(config.pipeline, limit);
  // A kill may have come before the run's files were removed.
  if (latest?.state === 'withheld') await removeWaitingFiles(latest, config.stateDir);
  const watch = await watchRecords(context, options, unfinished);
  try {
    let excess: SourceError | undefined;
    const onExcess = (error: SourceError) => {
      excess = error;
    };
    const checking = { ...reading, watch, onExcess };
    const source = await checkSource({ config, output, signal }, checking, true, sameParsing(latest, frozen));
    if (!options.fresh) {
      const done = await findDoneRun(checkpoint, config, source.sha256, frozen);
      if (done !== undefined) {
        await verifyPaid(context, done);
        return { run: await withCurrentFiles(context, done, source), found: 'done' };
      }
    }
    if (excess !== undefined) throw excess;
    await checkReplaced(output, config, clock.now(), checkpoint, { ...options, logger: context.logger });
    await context.prepareOutput(config.output.path);
    const left = await checkKept(context, givenUp, watch?.lost ?? [], options);
    const before = { run: begun, unfinished, givenUp: left, lookup: watch?.lookup() };
    return { run: await beginRun(context, options, source, before), found: 'new' };
  } finally {
    await watch?.close();
  }
}

/** How the source is read: a query is not asked again while its run is unfinished. */
function readingOptions(
  { config, checkpoint, copies }: ResumeContext,
  options: RunOptions,
  unfinished: Run | undefined,
): CheckSourceOptions {
  const kept = config.source.query === null || options.fresh ? undefined : unfinished;
  return { ...options, copies, kept, makeRoom: () => removeUnneededCopies(config, { checkpoint, copies }) };
}

/** Ends the run of `isMovedUnpaid`, unless the command names a run, or begins a new one anyway. */
async function dropMoved(
  context: ResumeContext,
  { existing, fresh }: RunOptions,
  run: Run,
  frozen: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (existing !== undefined || fresh || !(await isMovedUnpaid(context, run, frozen))) return false;
  await supersede(context.checkpoint, run, context.config.stateDir, context.clock.now());
  context.logger.info(
    { run: run.id },
    `run ${run.id} began at another address of the service and has paid nothing there: a new run takes its place`,
  );
  return true;
}

/**
 * Values that no longer matter once everything is sent. `chunks.maxBytes` does: records that do not fit into a chunk are
 * not read.
 */
function decidesHowItIsSent(key: string): boolean {
  return ['chunks.maxRecords', 'chunks.canary', 'upload.duplicates'].includes(key);
}

/** Finds a run that exists already, to collect it, retry it or publish it again. */
async function findExisting(
  given: ResumeContext,
  options: RunOptions,
  wanted: true | string,
): Promise<FoundRun> {
  const { checkpoint, output, service, signal } = given;
  const { pipeline } = given.config;
  const run = await (wanted === true
    ? checkpoint
        .unfinishedRun(pipeline, options.limit)
        .then((open) => open ?? checkpoint.latestRun(pipeline, options.limit))
    : namedRun(checkpoint, pipeline, wanted));
  if (run === undefined || run.pipeline !== pipeline || run.state === 'superseded') {
    const what =
      wanted === true || wanted === 'last' ? 'no run yet' : `no run ${wanted} that is open or done`;
    throw new ConfigError('RUN_UNKNOWN', `pipeline ${pipeline} has ${what}`, {
      hint: 'see the runs with: foliopipe runs (last names no sample); begin one with: foliopipe run',
    });
  }
  await verifyPaid(given, run);
  if (wanted === true && isCompleted(run)) return { run, found: 'done' };
  if (run.prunedAt !== null) throw prunedError(run);
  const frozen = Object.entries(frozenConfig(given.config, service));
  const isDone = options.sendsNothing === true && isCompleted(run);
  const compared =
    wanted === true
      ? frozen
      : frozen.filter(([key]) => !isOutputValue(key) && !(isDone && decidesHowItIsSent(key)));
  checkFrozenConfig(run.frozen, Object.fromEntries(compared), { id: run.id, isNamed: wanted !== true });
  const config = withOutputPath(given.config, run);
  const { copies } = given;
  const source = await checkAgain({ config, output, signal }, run, { ...options, copies });
  return { run: await continueRun({ ...given, config }, run, source, options), found: 'continued' };
}

/**
 * Called before any other work on a run, so that no record is paid twice because the checkpoint has lost rows.
 * @throws ConfigError `CHECKPOINT_BEHIND`, `JOURNAL_DAMAGED`.
 */
async function verifyPaid({ checkpoint, logger }: ResumeContext, run: Run): Promise<void> {
  // A pruned run cannot go on.
  if (run.prunedAt !== null || (await checkpoint.verifyPaid(run.id)) === 'whole') return;
  if ((await checkpoint.lastCut(run.id, 0)) === undefined) return;
  logger.warn(
    { run: run.id },
    `the journal of run ${run.id} was missing or empty; it is written again from the checkpoint`,
  );
}

/** The run, if it has read its source with the same settings. Only then can its check of the source be reused. */
function sameParsing(run: Run | undefined, frozen: Readonly<Record<string, string>>): Run | undefined {
  const same = Object.keys(frozen)
    .filter((key) => key.startsWith('source.') || key.startsWith('chunks.') || key.startsWith('upload.'))
    .every((key) => run?.frozen[key] === frozen[key]);
  return same ? run : undefined;
}
