/** Opens everything that a run needs, finds or begins the run, and closes all of it again in reverse order. */

import type { Checkpoint, Run } from '../../checkpoint/checkpoint.js';
import { lossOr } from '../../checkpoint/pipeline-lock.js';
import type { Config } from '../../config/schema.js';
import { withLimit, withOutputPath } from '../../config/sections/output-path.js';
import { diskError } from '../../disk-error.js';
import { ConfigError, FoliopipeError } from '../../errors.js';
import type { AtFailpoint } from '../../failpoints.js';
import { createOutputStore } from '../../files/create-output-store.js';
import type { FileStore } from '../../files/run-files.js';
import { workFolderOf } from '../../files/work-file.js';
import { silentLogger } from '../../logger.js';
import type { OnProgress } from '../../progress/events.js';
import { guardListeners } from '../../progress/guard-listeners.js';
import { createWaits, type Waits } from '../../progress/waits.js';
import { createRunMeasure, type RunMeasure } from '../../report/measure-run.js';
import { recordsToSend } from '../../report/origins.js';
import { type AnswerStore, type ChosenAnswers, openLater } from '../../reuse/answer-store.js';
import type { RunContext } from '../../run-context.js';
import type { SharedCopies } from '../../spool/shared-copies.js';
import { refetchParts } from '../../stages/download/refetch-parts.js';
import { forgetWork } from '../../stages/publish/waiting-files.js';
import { unrecordedError } from '../../stages/submit/unrecorded-folios.js';
import { stopReason } from '../../streams/abortable.js';
import { systemClock } from '../../streams/clock.js';
import { refuseUnconfirmed } from '../backup/restored-mark.js';
import { checkOpenFiles } from '../check/check-open-files.js';
import { openApi, serviceIdentity, withAddressOf } from '../configured-service.js';
import { openLoadTarget } from '../load/load-run.js';
import { watchRun } from '../read-progress.js';
import { writeOwnReport } from '../report-run.js';
import type { RunOptions } from '../run-options.js';
import { refuseStateInFolder } from '../state-reader.js';
import { type FoundRun, findRun } from './find-run.js';
import { namedRun } from './named-run.js';
import { openLimits } from './open-limits.js';
import { type OpenState, openState, type StateContext } from './open-state.js';
import { createGuardedOutput } from './prepare-output.js';
import { createReleasers, type Releasers } from './releasers.js';
import { closedError, endUploads, linkedController, stopAtDeadline, stopWhenLost } from './stop-run.js';

/** An open run, as the pipelines use it. */
export interface OpenRun extends RunContext {
  readonly found: FoundRun['found'];
  /** The files of all runs. */
  readonly fileStore: FileStore;
  /** Copies of sources that all machines see; undefined for a state on the local disk. */
  readonly copies?: SharedCopies | undefined;
  /** Measures what this process does for the run. */
  readonly measure?: RunMeasure;
  /** Makes sure that the output can be put in place, and keeps other pipelines away from it. Must precede every write. */
  prepareOutput(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Runs a body with an open run. Always closes the run, and explains errors of the disk.
 * @throws ConfigError `RUN_GONE`; the errors of `openRun` and of the body.
 */
export async function withRun<T>(
  config: Config,
  options: RunOptions,
  body: (run: OpenRun) => Promise<T>,
): Promise<T> {
  const run = await openRun(config, options);
  const result = await body(run).catch(async (error: unknown) => {
    const cause = await afterRemoval(run, await runError(run, error));
    await writeOwnReport(run, options, cause);
    await run.close().catch((atClose: unknown) => {
      // If the state is gone, the first error is a consequence of that.
      if (atClose instanceof FoliopipeError && atClose.code === 'CHECKPOINT_GONE') throw atClose;
    });
    throw cause;
  });
  await writeOwnReport(run, options);
  await run.close();
  return result;
}

/**
 * The error that a job ends with: it names replies of the service that could be recorded nowhere, or says that the lock
 * was lost, and explains errors of the disk.
 */
export async function runError(
  run: Pick<OpenRun, 'id' | 'config' | 'lock' | 'uploads' | 'signal'>,
  error: unknown,
): Promise<unknown> {
  const cause = unrecordedError(run) ?? (await lossOr(run.lock, stopReason(run.signal, error)));
  return asDiskError(run.config, cause);
}

/** Replaces an unknown error if the rows of the run are gone: somebody has removed them, so it is not a bug. */
async function afterRemoval({ id, checkpoint }: OpenRun, error: unknown): Promise<unknown> {
  if (error instanceof FoliopipeError) return error;
  const run = await checkpoint.run(id).catch(() => null);
  if (run !== undefined) return error;
  const text = `run ${id} is no longer in the state: its rows were removed while this process worked on it`;
  return new ConfigError('RUN_GONE', text, {
    hint: 'put them back from a copy of the state before anything else is sent: a new run would pay again',
    facts: { run: id },
    cause: error,
  });
}

function asDiskError({ stateDir, output }: Config, error: unknown): unknown {
  return diskError(error, [stateDir, workFolderOf(output.path, stateDir)]) ?? error;
}

/**
 * Takes the pipeline's lock, opens the checkpoint, checks the source, and finds or begins the run.
 * @throws LockedError, ConfigError, SourceError, GuardError `RESTORED_UNCONFIRMED`, and the errors of `diskError`;
 *   everything that was opened is then closed.
 */
export async function openRun(whole: Config, handed: RunOptions): Promise<OpenRun> {
  const wanted = guardListeners(handed);
  const begun = beginOpening(wanted);
  try {
    checkOpenFiles(whole);
    const state = await lockState(whole, wanted, begun);
    const opening = inSharedTime(begun, wanted, state.lock);
    const { given, options } = await valuesOfRun(whole, wanted, state.checkpoint);
    if (!options.sendsNothing) await refuseUnconfirmed(given, options, opening.logger);
    const client = openClient(given, options, state.account, opening);
    const ports = choosePorts(given, options, state, opening);
    if (given.state !== null) await forgetWork(given, { ...ports, logger: opening.logger }, options.limit);
    const { clock, signal, logger } = opening;
    const context = { ...ports, config: given, service: client.service, clock, signal, logger };
    const { run, found } = await findRun(context, options);
    const config = withOutputPath(given, run);
    const progress = reportBegun(run, found, options, opening);
    const chosen = await openChosen(ports.answers, run, opening.releasers);
    if (options.onProgress !== undefined) {
      watchProgress(run.id, options.onProgress, { ...ports, ...client, ...progress }, opening);
    }
    const opened = {
      ...contextOf(run, config, ports, client, opening),
      found,
      chosen,
      keepsChunks: chosen !== null,
      files: await ports.files.ofRun(run.id),
      progress,
    };
    return { ...opened, refetch: (chunk) => refetchParts(opened, chunk) };
  } catch (error) {
    // The first error counts: what fails now may be its consequence.
    await begun.releasers.close().catch(() => undefined);
    throw asDiskError(whole, stopReason(begun.signal, error));
  }
}

/** What every step of opening a run uses, and what stops this process and closes what it has opened. */
interface Opening extends StateContext {
  readonly controller: AbortController;
  readonly releasers: Releasers;
  readonly measure: RunMeasure;
  readonly at: AtFailpoint;
}

/** From now on the caller's signal and the deadline stop the run. */
function beginOpening(options: RunOptions): Opening {
  const { logger = silentLogger, clock = systemClock, at = () => undefined } = options;
  const { measure = createRunMeasure(), signal, deadline } = options;
  const releasers = createReleasers();
  const controller = linkedController(signal, releasers);
  if (deadline !== undefined) releasers.add(stopAtDeadline(controller, deadline, clock));
  return { logger, clock, at, measure, releasers, controller, signal: controller.signal };
}

/** Takes the pipeline's lock and opens its state. A lost lock stops the run. */
async function lockState(config: Config, options: RunOptions, opening: Opening): Promise<OpenState> {
  opening.signal.throwIfAborted();
  const state = await openState(config, options, opening, opening.releasers);
  stopWhenLost(opening.controller, state.lock);
  if (options.checkpoint === undefined) await refuseStateInFolder(config);
  return state;
}

/** Unless the caller has given a clock, a run uses the one that all machines with its state share. */
function inSharedTime(opening: Opening, { clock }: RunOptions, { now }: OpenState['lock']): Opening {
  return clock !== undefined || now === undefined ? opening : { ...opening, clock: { ...systemClock, now } };
}

/** The config and the options, with the service's address and the limit of the run that the options name. */
async function valuesOfRun(whole: Config, options: RunOptions, checkpoint: Checkpoint) {
  const { existing } = options;
  const named =
    typeof existing === 'string' ? await namedRun(checkpoint, whole.pipeline, existing) : undefined;
  const limit = named === undefined ? options.limit : named.source.limit;
  const given = withLimit(withAddressOf(whole, named), limit);
  return { given, options: { ...options, limit } };
}

/** Opens the client of the service. Closing it first waits for its uploads in flight. */
function openClient(
  config: Config,
  options: RunOptions,
  account: OpenState['account'],
  { releasers, measure, clock, logger }: Opening,
) {
  const waits = createWaits(options.onProgress, () => Date.now());
  const service = serviceIdentity(config);
  const limits = openLimits(config, service, account, options.limits, { clock, logger, measure });
  const api = measure.watch(openApi(config, { ...options, limits }, waits));
  if (options.api === undefined) releasers.add(api);
  const uploads: OpenRun['uploads'] = { stopped: false, inFlight: new Set(), unrecorded: [] };
  releasers.add({ close: () => endUploads(uploads.inFlight) });
  return { service, api, uploads, waits, folioPermits: limits.folios };
}

/** The caller's ports, and the default one for each that is not given. */
function choosePorts(config: Config, options: RunOptions, state: OpenState, opening: Opening) {
  const { checkpoint, files, lock, outputs, stores } = state;
  const { signal, at, releasers } = opening;
  const { output: store = createOutputStore(config, { signal, at, begunUploads: checkpoint }) } = options;
  const { answers = stores.answers, deltas = stores.deltas } = options;
  const guarded = createGuardedOutput(config, options, opening, { store, lock, outputs }, releasers);
  const loadTarget = openLoadTarget(config, options);
  return { ...guarded, checkpoint, lock, files, answers, deltas, copies: stores.copies, loadTarget };
}

/** Tells the caller which run it is. */
function reportBegun(
  run: Run,
  found: OpenRun['found'],
  { onProgress: emit = () => undefined }: RunOptions,
  { measure, at }: Opening,
): OpenRun['progress'] {
  measure.begin();
  emit({ type: 'run', run: run.id, pipeline: run.pipeline, found });
  if (found === 'new') at('after-run-before-chunk');
  return { emit, percentages: new Map() };
}

/**
 * What a run has chosen; null if it sends every record, or was pruned and keeps only its figures. The choice of a run
 * whose rows are all written is opened when it is needed: there may be nothing to write again.
 */
async function openChosen(
  answers: AnswerStore,
  run: Run,
  releasers: Releasers,
): Promise<ChosenAnswers | null> {
  if (run.choice === null || run.prunedAt !== null) return null;
  const open = () => answers.openChoice(run.id, run.choice!);
  const chosen = run.state === 'open' ? await open() : openLater(open);
  releasers.add(chosen);
  return chosen;
}

/** Reports snapshots of the run to the caller until it is closed. */
function watchProgress(
  id: string,
  onProgress: OnProgress,
  { checkpoint, waits, percentages }: Pick<OpenRun, 'checkpoint'> & { waits: Waits } & OpenRun['progress'],
  { measure, clock, releasers }: Opening,
): void {
  const admitted = () => measure.figures().admitted;
  releasers.add(watchRun(id, { checkpoint, clock, percentages, waits, admitted }, onProgress));
}

/** The part of the stages' context that needs no further work. */
function contextOf(
  run: Run,
  config: Config,
  { files: fileStore, prepareOutput, ...ports }: ReturnType<typeof choosePorts>,
  { api, uploads, folioPermits }: ReturnType<typeof openClient>,
  { releasers, ...opening }: Opening,
): Omit<OpenRun, 'found' | 'chosen' | 'keepsChunks' | 'files' | 'progress' | 'refetch'> {
  const given: OpenRun['given'] = { rows: undefined, isTaking: false, isClosed: false };
  return {
    ...opening,
    ...ports,
    id: run.id,
    config,
    source: run.source,
    canary: run.canary,
    toSend: recordsToSend(run),
    fileStore,
    api,
    folioPermits,
    uploads,
    deferred: { error: undefined },
    join: { method: run.join, judged: new Set(), lacking: new Set(), judging: Promise.resolve(undefined) },
    given,
    work: { written: undefined },
    prepareOutput: () => prepareOutput(config.output.path),
    close: () => {
      given.isClosed = true;
      // Ends what still works on the run, such as a chain of the program's own that polls folios.
      opening.controller.abort(closedError(run.id));
      return releasers.close().catch((error: unknown) => {
        throw asDiskError(config, error);
      });
    },
  };
}
