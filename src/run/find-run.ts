/** Decides which run a command works on: the unfinished one, a done one, or a new one (docs/resume.md). */
import { randomBytes } from 'node:crypto';
import type { Checkpoint, Run } from '../checkpoint/checkpoint.js';
import { checkFixedValues, fixedOutputPath, fixedValues, isOutputValue } from '../config/fixed-values.js';
import type { Config } from '../config/schema.js';
import { ConfigError } from '../errors.js';
import type { OutputStore } from '../files/output-store.js';
import type { FileStore } from '../files/run-files.js';
import { removeLocalFile, workPathOf } from '../files/work-file.js';
import type { Logger } from '../logger.js';
import { formatDuration } from '../quantities.js';
import type { AnswerLookup, AnswerStore } from '../reuse/answer-store.js';
import { isEchoChanged } from '../stages/merge/join-chunk.js';
import type { Clock } from '../streams/clock.js';
import type { Choice, Source } from '../types.js';
import { checkDisk } from './check-disk.js';
import { checkSource } from './check-source.js';
import { checkMiss, chooseForRun, logChoice, watchRecords } from './choose-records.js';
import { pickDoneRun, prunedError, sourceChangedError } from './done-run.js';
import { budgetLeft, canaryRecords, checkBudget } from './guards.js';
import type { RunOptions } from './run-options.js';

export interface FoundRun {
  readonly run: Run;
  /**
   * `publishing`: its output must be put in place first, even if source or config have changed. `outdated`: its source
   * has changed, and it must be collected and superseded (`source.onChange`).
   */
  readonly found: 'new' | 'continued' | 'publishing' | 'outdated' | 'done';
}

export interface FindRunContext {
  readonly config: Config;
  /** The service's identity: results are never reused for another service. */
  readonly service: string;
  readonly checkpoint: Checkpoint;
  readonly output: OutputStore;
  readonly answers: AnswerStore;
  readonly files: FileStore;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * @throws ConfigError when a frozen value differs, or when a run with other values has done the source; SourceError
 *   when the source of the unfinished run has changed.
 */
export async function findRun(context: FindRunContext, options: RunOptions): Promise<FoundRun> {
  const { config, checkpoint, output, service, signal } = context;
  const frozen = fixedValues(config, service);
  const unfinished = await checkpoint.unfinishedRun(config.pipeline);
  if (unfinished !== undefined) await verifyPaid(context, unfinished);
  if (unfinished?.state === 'publishing') {
    context.logger.info(
      { run: unfinished.id },
      `publishing of run ${unfinished.id} was interrupted and goes on`,
    );
    return { run: unfinished, found: 'publishing' };
  }
  if (options.existing !== undefined) return findExisting(context, options, options.existing);
  if (unfinished !== undefined && !options.fresh) {
    checkFixedValues(unfinished.frozen, frozen, unfinished.id);
    const source = await checkSource({ config, output, signal }, options, unfinished);
    const changed = source.sha256 !== unfinished.source.sha256;
    if (changed && config.source.onChange === 'supersede') return { run: unfinished, found: 'outdated' };
    return continueRun(context, unfinished, source);
  }
  const latest = await checkpoint.latestRun(config.pipeline);
  const watch = await watchRecords(context, options, unfinished);
  try {
    const watching = { ...options, ...(watch && { watch }) };
    const source = await checkSource({ config, output, signal }, watching, sameParsing(latest, frozen));
    if (!options.fresh) {
      const done = pickDoneRun(await checkpoint.doneRuns(config.pipeline, service, source.sha256), frozen);
      if (done !== undefined) {
        await verifyPaid(context, done);
        return { run: await withCurrentFiles(done, source, checkpoint), found: 'done' };
      }
    }
    return await beginRun(context, options, source, frozen, { unfinished, lookup: watch?.lookup() });
  } finally {
    await watch?.close();
  }
}

/** Finds a run that exists already, to collect it, retry it or publish it again. */
async function findExisting(
  context: FindRunContext,
  options: RunOptions,
  wanted: true | string,
): Promise<FoundRun> {
  const { config, checkpoint, output, service, signal } = context;
  const run = await (wanted === true
    ? checkpoint.unfinishedRun(config.pipeline).then((open) => open ?? checkpoint.latestRun(config.pipeline))
    : checkpoint.run(wanted));
  if (run === undefined || run.pipeline !== config.pipeline || run.state === 'superseded') {
    const what = wanted === true ? 'no run' : `no run ${wanted} that is open or done`;
    throw new ConfigError('RUN_UNKNOWN', `pipeline ${config.pipeline} has ${what}`, {
      hint: 'see the runs with: foliopipe runs; begin one with: foliopipe run',
    });
  }
  await verifyPaid(context, run);
  if (wanted === true && run.state === 'done') return { run, found: 'done' };
  const frozen = Object.entries(fixedValues(config, service));
  const compared = wanted === true ? frozen : frozen.filter(([key]) => !isOutputValue(key));
  checkFixedValues(run.frozen, Object.fromEntries(compared), run.id);
  if (run.prunedAt !== null) throw prunedError(run);
  const source = await checkSource({ config, output, signal }, options, run);
  return continueRun(context, run, source, wanted);
}

/**
 * Called before any other work on a run, so that no record is paid twice because the checkpoint has lost rows.
 * @throws ConfigError `CHECKPOINT_BEHIND`, `JOURNAL_DAMAGED`.
 */
async function verifyPaid({ checkpoint, logger }: FindRunContext, run: Run): Promise<void> {
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

/** A done run with the files that hold its source now; other files may have the same content. */
async function withCurrentFiles(run: Run, source: Source, checkpoint: Checkpoint): Promise<Run> {
  if (JSON.stringify(run.source) === JSON.stringify(source)) return run;
  await checkpoint.recordSourceStamp(run.id, source);
  return { ...run, source };
}

async function continueRun(
  context: FindRunContext,
  run: Run,
  source: Source,
  existing?: RunOptions['existing'],
): Promise<FoundRun> {
  if (source.sha256 !== run.source.sha256) {
    throw sourceChangedError(run, source);
  }
  if (source !== run.source) await context.checkpoint.recordSourceStamp(run.id, source);
  if (run.state === 'open' && isEchoChanged(context.config, run)) {
    context.logger.info(
      { run: run.id, echo: context.config.result.echo },
      'result.echo has changed: the stored results are joined and written again',
    );
    await context.checkpoint.recordUnjoined(run.id);
  } else if (run.state === 'open' && declaresOtherColumns(context.config, run)) {
    // The rows are written again from the stored results, with the new header.
    await context.checkpoint.recordUnmerged(run.id, 1);
  }
  const interrupted = await context.checkpoint.recordInterrupted(run.id);
  if (run.state === 'open' && typeof existing !== 'string') await logContinuing(context, run);
  if (interrupted > 0) {
    context.logger.warn(
      { run: run.id, chunks: interrupted },
      `${interrupted} uploads were cut off when the last process ended; whether the service accepted them is not known`,
    );
  }
  return { run: (await context.checkpoint.run(run.id))!, found: 'continued' };
}

function declaresOtherColumns({ result }: Config, { columns }: Run): boolean {
  // The rows of a run without a success have no added columns.
  return result.columns.length > 0 && JSON.stringify(result.columns) !== JSON.stringify(columns ?? []);
}

/** Logs which run continues, its age and how many chunks are left. */
async function logContinuing({ checkpoint, clock, logger }: FindRunContext, run: Run): Promise<void> {
  const { chunks } = await checkpoint.tally(run.id);
  const here = chunks.downloaded + chunks.unprocessed + chunks.refused;
  const cut = Object.values(chunks).reduce((sum, count) => sum + count, 0) - chunks.split;
  const age = formatDuration(clock.now() - run.createdAt);
  const left =
    run.chunks === null
      ? `${cut - here} of the ${cut} chunks cut so far`
      : `${run.chunks - here} of ${run.chunks} chunks`;
  logger.info(
    { run: run.id, chunks: run.chunks, downloaded: here, openFolios: chunks.submitted },
    `continuing run ${run.id} of ${age} ago, ${left} left, ${chunks.submitted} folios open at the service`,
  );
}

/** What was found before a run begins. */
interface Before {
  /** The run that the new one replaces. */
  readonly unfinished: Run | undefined;
  /** See `chooseForRun`. */
  readonly lookup: AnswerLookup | undefined;
}

async function beginRun(
  context: FindRunContext,
  options: RunOptions,
  source: Source,
  frozen: Readonly<Record<string, string>>,
  { unfinished, lookup }: Before,
): Promise<FoundRun> {
  const { config, checkpoint, service } = context;
  const createdAt = context.clock.now();
  const id = runId(createdAt);
  const choice = await chooseForRun(context, options, source, id, createdAt, lookup);
  try {
    if (choice !== null) options.at?.('after-choice-before-run');
    await checkNewRun(context, options, source, id, choice, createdAt);
  } catch (error) {
    await context.answers.removeChoice(id);
    throw error;
  }
  if (unfinished !== undefined) await supersede(checkpoint, unfinished, createdAt);
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
  return { run: (await checkpoint.run(id))!, found: 'new' };
}

/** @throws GuardError when it would send more than a guard or a budget allows. */
async function checkNewRun(
  context: FindRunContext,
  options: RunOptions,
  source: Source,
  id: string,
  choice: Choice | null,
  now: number,
): Promise<void> {
  const { config, checkpoint, logger } = context;
  if (choice !== null) {
    logChoice(logger, id, choice);
    await checkMiss(context, options, choice);
    await checkDisk(config, source, choice);
  }
  const caps = await budgetLeft(checkpoint, config, null, now);
  checkBudget(caps, choice?.sent ?? source.records - source.rejected, logger);
}

/** A unique id that sorts by time: `20261121T031002-4f9c1a`. */
function runId(at: number): string {
  const time = new Date(at).toISOString().replaceAll(/[-:]|\.\d+Z/g, '');
  return `${time}-${randomBytes(3).toString('hex')}`;
}

/**
 * Ends an unfinished run because a newer run replaces it. Stored results stay; the unfinished output is removed.
 * @param at epoch milliseconds.
 */
export async function supersede(
  checkpoint: Pick<Checkpoint, 'recordSuperseded'>,
  run: Pick<Run, 'id' | 'frozen'>,
  at: number,
): Promise<void> {
  await checkpoint.recordSuperseded(run.id, at);
  const output = fixedOutputPath(run.frozen);
  if (output !== null) await removeLocalFile(workPathOf(output, run.id));
}
