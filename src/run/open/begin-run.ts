/** Begins a new run: after its records are chosen and every guard has passed, before anything is paid. */
import { randomBytes } from 'node:crypto';
import type { Checkpoint, Run } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { frozenOutputDate, type OutputRun } from '../../config/sections/output-path.js';
import type { DeltaStore } from '../../delta/delta-store.js';
import type { LoadTarget } from '../../load/load-target.js';
import type { Logger } from '../../logger.js';
import { countOf } from '../../quantities.js';
import { recordsToSend } from '../../report/origins.js';
import { checkReportColumns } from '../../results/column-types.js';
import type { AnswerLookup } from '../../reuse/answer-store.js';
import { keepCopies } from '../../spool/open-source.js';
import type { SharedCopies } from '../../spool/shared-copies.js';
import { checkKnownTypes, expectedColumns } from '../../stages/merge/result-columns.js';
import { removeKeptChunks } from '../../stages/publish/keep-answers.js';
import { removeWaitingFiles } from '../../stages/publish/waiting-files.js';
import type { Clock } from '../../streams/clock.js';
import type { Choice, Source } from '../../types.js';
import { checkDisk } from '../check/check-disk.js';
import { budgetLeft, canaryRecords, checkBudget, checkDelta } from '../check/check-new-run.js';
import { refuseUnknownWork } from '../check/check-unknown-work.js';
import { checkLoad } from '../load/load-run.js';
import type { RunOptions } from '../run-options.js';
import { checkMiss, chooseForRun, logChoice } from './choose-records.js';
import { type GivenUpRun, givenUpText } from './given-up-run.js';
import type { SegmentContext } from './missing-segments.js';

export interface BeginRunContext extends SegmentContext {
  /** The service's identity: results are never reused for another service. */
  readonly service: string;
  readonly clock: Clock;
  readonly loadTarget: LoadTarget | null;
  readonly deltas: DeltaStore;
  /** Copies of sources that all machines see; undefined for a state on the local disk. */
  readonly copies?: SharedCopies | undefined;
}

/** What was found before a run begins. */
interface Before {
  /** The new run: see `newRun`. */
  readonly run: NewRun;
  /** The run that the new one replaces. */
  readonly unfinished: Run | undefined;
  /** What was paid for in that run; undefined if nothing was. */
  readonly givenUp: GivenUpRun | undefined;
  /** See `chooseForRun`. */
  readonly lookup: AnswerLookup | undefined;
}

/**
 * Chooses which records are sent, checks the guards and the budget, and records the run. If a check fails, nothing of
 * the run stays.
 * @throws GuardError, TroubleError when the run must not begin; ConfigError when stored answers are damaged.
 */
export async function beginRun(
  context: BeginRunContext,
  options: RunOptions,
  source: Source,
  { run: { id, createdAt, frozen }, unfinished, givenUp, lookup }: Before,
): Promise<Run> {
  const { config, checkpoint, service } = context;
  const now = context.clock.now();
  const choice = await chooseForRun(context, options, source, id, now, lookup);
  try {
    if (choice !== null) options.at?.('after-choice-before-run');
    await checkNewRun(context, options, source, id, choice, now);
    await keepCopies(config, context.copies, source);
  } catch (error) {
    await context.answers.removeChoice(id);
    throw error;
  }
  if (unfinished !== undefined) {
    await supersede(checkpoint, unfinished, config.stateDir, now);
    await removeStoredChunks(context, unfinished.id);
    logGivenUp(context.logger, unfinished, givenUp);
  }
  await checkpoint.recordRun({
    id,
    pipeline: config.pipeline,
    service,
    label: options.label ?? null,
    source,
    frozen,
    canary: await canaryRecords(config, service, source, checkpoint),
    choice,
    createdAt,
  });
  const run = (await checkpoint.run(id))!;
  const records = recordsToSend(run);
  context.logger.info(
    { run: id, pipeline: run.pipeline, service, records, label: run.label },
    `run ${id} of pipeline ${run.pipeline} begins: ${countOf(records, 'record')} to send to ${service}`,
  );
  return run;
}

/** Removes the chunk files of a run that was superseded just now, if its answers are in a segment. */
async function removeStoredChunks({ checkpoint, files }: SegmentContext, id: string): Promise<void> {
  if (!(await checkpoint.segments()).some(({ run }) => run === id)) return;
  await removeKeptChunks({ id, keepsChunks: true, files: await files.ofRun(id), checkpoint });
}

function logGivenUp(logger: Logger, { id }: Run, givenUp: GivenUpRun | undefined): void {
  if (givenUp === undefined) {
    logger.info({ run: id }, `unfinished run ${id} is given up; nothing was paid for in it`);
    return;
  }
  const { paid, inVain, open, ambiguous, collected } = givenUp;
  logger.warn(
    { run: id, paid, inVain: inVain.records, open, ambiguous, collected },
    `unfinished run ${id} is given up: ${givenUpText(givenUp)}`,
  );
}

/**
 * @throws GuardError when the run would send more than a guard or a budget allows; the errors of `checkLoad` when the
 *   output could not be loaded.
 */
async function checkNewRun(
  context: BeginRunContext,
  options: RunOptions,
  source: Source,
  id: string,
  choice: Choice | null,
  now: number,
): Promise<void> {
  const { config, checkpoint, logger } = context;
  await refuseUnknownWork(config, checkpoint, { ...options, logger });
  await checkDelta(context);
  if (choice !== null) {
    logChoice(logger, id, choice);
    await checkMiss(context, options, choice);
  }
  const records = recordsToSend({ choice, source });
  const caps = await budgetLeft(checkpoint, config, context.service, null, now);
  checkBudget(caps, records, config.chunks.maxRecords, logger);
  await checkDisk(config, { source, records, keepsAnswers: choice !== null }, { ...options, logger });
  const { pipeline } = config;
  const row = { pipeline, service: context.service, columns: null, source, choice };
  const expected = await expectedColumns(context, row);
  checkKnownTypes({ config, source }, expected);
  checkReportColumns(config.result, expected);
  await checkLoad(context, row);
}

/** What is known of a run from its first moment on. */
type NewRun = Pick<Run, 'id' | 'pipeline' | 'createdAt' | 'frozen'>;

/**
 * A run that may begin. Nothing of it is recorded yet.
 * @param values the frozen values of the config.
 * @param now epoch milliseconds.
 */
export function newRun(config: Config, values: Run['frozen'], now: number): NewRun {
  const frozen = { ...values, ...frozenOutputDate(config, now) };
  return { id: runId(now), pipeline: config.pipeline, createdAt: now, frozen };
}

/** A unique id that sorts by time: `20261121T031002-4f9c1a`. */
function runId(at: number): string {
  return `${timeInId(at)}-${randomBytes(3).toString('hex')}`;
}

/** A time to the second, in UTC, as ids of runs and imports have it. @param at epoch milliseconds. */
export function timeInId(at: number): string {
  return new Date(at).toISOString().replaceAll(/[-:]|\.\d+Z/g, '');
}

/**
 * Ends an unfinished run because a newer run replaces it. Stored results stay; the unfinished output is removed.
 * @param at epoch milliseconds.
 */
export async function supersede(
  checkpoint: Pick<Checkpoint, 'recordSuperseded'>,
  run: OutputRun,
  stateDir: string,
  at: number,
): Promise<void> {
  await checkpoint.recordSuperseded(run.id, at);
  await removeWaitingFiles(run, stateDir);
}
