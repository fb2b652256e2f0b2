/** Opens everything that a run needs, finds or begins the run, and closes all of it again in reverse order. */

import type { Run } from '../../checkpoint/checkpoint.js';
import type { PipelineLock } from '../../checkpoint/pipeline-lock.js';
import { isCompleted } from '../../checkpoint/state.js';
import type { Config } from '../../config/schema.js';
import { withLimit, withOutputPath } from '../../config/sections/output-path.js';
import { diskError } from '../../disk-error.js';
import { createOutputStore } from '../../files/create-output-store.js';
import type { OutputStore } from '../../files/output-store.js';
import type { FileStore } from '../../files/run-files.js';
import { workFolderOf } from '../../files/work-file.js';
import { silentLogger } from '../../logger.js';
import { guardListeners } from '../../progress/guard-listeners.js';
import { createWaits } from '../../progress/waits.js';
import { createRunMeasure, type RunMeasure } from '../../report/measure-run.js';
import { recordsToSend } from '../../report/origins.js';
import { type AnswerStore, type ChosenAnswers, openLater } from '../../reuse/answer-store.js';
import type { RunContext } from '../../run-context.js';
import type { SharedCopies } from '../../spool/shared-copies.js';
import { unrecordedError } from '../../stages/submit/upload-chunk.js';
import { stopReason } from '../../streams/abortable.js';
import { systemClock } from '../../streams/clock.js';
import { refuseUnconfirmed } from '../backup/restored-mark.js';
import { checkOpenFiles } from '../check/check-open-files.js';
import { openLoadTarget } from '../load/load-run.js';
import { watchRun } from '../read-progress.js';
import { writeOwnReport } from '../report-run.js';
import type { RunOptions } from '../run-options.js';
import { openApi, serviceIdentity, withAddressOf } from '../service.js';
import { refuseStateInFolder } from '../state-reader.js';
import { type FoundRun, findRun } from './find-run.js';
import { forgetWork } from './forget-work.js';
import { givenRun } from './named-run.js';
import { openLimits } from './open-limits.js';
import {
  createReleasers,
  holderOf,
  type OpenState,
  openState,
  type Releasers,
  type StateContext,
  waitForLock,
} from './open-state.js';
import { createWatchedStore, type PreparedOutput, prepareOutput } from './prepare-output.js';
import { endUploads, linkedController, stopAtDeadline, stopWhenLost } from './stop-run.js';

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
 * Runs a body with an open run. Always closes the run, and translates disk errors.
 * @throws TroubleError `DISK_FULL`, `DISK_FAILED`, `TOO_MANY_FILES`; ConfigError `FOLDER_UNWRITABLE`; the errors of
 *   `openRun` and of the body.
 */
export async function withRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: OpenRun) => Promise<T>,
): Promise<T> {
  try {
    checkOpenFiles(config);
    const run = await openRun(config, options);
    const result = await body(run).catch(async (error: unknown) => {
      const cause = runError(run, error);
      await writeOwnReport(run, options, cause);
      await run.close().catch(() => undefined);
      throw cause;
    });
    await writeOwnReport(run, options);
    await run.close();
    return result;
  } catch (error) {
    throw asDiskError(config, error);
  }
}

/**
 * The error that a job ends with: it names replies of the service that could be recorded nowhere, and explains errors of
 * the disk.
 */
export function runError(
  run: Pick<OpenRun, 'id' | 'config' | 'uploads' | 'signal'>,
  error: unknown,
): unknown {
  return asDiskError(run.config, unrecordedError(run) ?? stopReason(run.signal, error));
}

function asDiskError({ stateDir, output }: Config, error: unknown): unknown {
  return diskError(error, [stateDir, workFolderOf(output.path, stateDir)]) ?? error;
}

/**
 * Takes the pipeline's lock, opens the checkpoint, checks the source, and finds or begins the run.
 * @throws LockedError, ConfigError, SourceError, GuardError `RESTORED_UNCONFIRMED`; everything that was opened is then closed.
 */
export async function openRun(whole: Config, handed: RunOptions = {}): Promise<OpenRun> {
  const wanted = guardListeners(handed);
  const { logger = silentLogger, clock = systemClock, at = () => undefined } = wanted;
  const { measure = createRunMeasure() } = wanted;
  const releasers = createReleasers();
  const controller = linkedController(wanted.signal, releasers);
  const { signal } = controller;
  try {
    if (wanted.deadline !== undefined) {
      releasers.add(stopAtDeadline(controller, wanted.deadline, clock));
    }
    signal.throwIfAborted();
    const opened = await openState(whole, wanted, { clock, signal, logger }, releasers);
    const { checkpoint, files, lock, outputs, stores, account } = opened;
    stopWhenLost(controller, lock);
    if (wanted.checkpoint === undefined) await refuseStateInFolder(whole);
    const named = await givenRun(checkpoint, whole.pipeline, wanted);
    const limit = named === undefined ? wanted.limit : named.source.limit;
    const given = withLimit(withAddressOf(whole, named), limit);
    const options: RunOptions = limit === undefined ? wanted : { ...wanted, limit };
    if (options.existing === undefined) await refuseUnconfirmed(given, options, logger);
    const { output: store = createOutputStore(given, { signal, at, begunUploads: checkpoint }) } = options;
    const { deltas = stores.deltas } = options;
    const { copies } = stores;
    const waits = createWaits(options.onProgress, () => Date.now());
    const service = serviceIdentity(given);
    const limits = openLimits(given, service, account, options.limits, { clock, logger, measure });
    const api = measure.watch(options.api ?? openApi(given, { ...options, limits }, waits));
    if (options.api === undefined) releasers.add(api);

    const uploads = { stopped: false, inFlight: new Set<Promise<unknown>>(), unrecorded: [] };
    releasers.add({ close: () => endUploads(controller, uploads.inFlight) });

    const { answers = stores.answers } = options;
    const { preparer, output } = createPreparer(
      given,
      options,
      { clock, signal, logger },
      { store, lock, outputs },
      releasers,
    );
    const loadTarget = openLoadTarget(given, options);
    const context = {
      config: given,
      service,
      checkpoint,
      output,
      answers,
      files,
      loadTarget,
      deltas,
      copies,
      signal,
      clock,
      logger,
    };
    if (given.state !== null) await forgetWork(given, { checkpoint, output, logger }, limit);
    const { run, found } = await findRun({ ...context, prepareOutput: preparer }, options);
    const config = withOutputPath(given, run);
    measure.begin();
    const tell = options.onProgress ?? silent;
    tell({ type: 'run', run: run.id, pipeline: run.pipeline, found });
    if (found === 'new') at('after-run-before-chunk');
    // A pruned run keeps its figures only.
    const chosen = await openChosen(answers, run);
    if (chosen !== null) releasers.add(chosen);
    const givenRows: OpenRun['given'] = { rows: undefined, isTaking: false, isClosed: false };
    const percentages = new Map<number, number>();
    if (options.onProgress !== undefined) {
      const admitted = () => measure.figures().admitted;
      const sources = { checkpoint, clock, percentages, waits, admitted };
      releasers.add(watchRun(run.id, sources, options.onProgress));
    }
    return {
      id: run.id,
      found,
      config,
      source: run.source,
      canary: run.canary,
      toSend: recordsToSend(run),
      chosen,
      keepsChunks: chosen !== null,
      answers,
      checkpoint,
      files: await files.ofRun(run.id),
      fileStore: files,
      output,
      prepareOutput: () => preparer(config.output.path),
      deltas,
      copies,
      loadTarget,
      api,
      measure,
      folioPermits: limits.folios,
      controller,
      signal,
      deferred: { error: undefined },
      uploads,
      join: { method: run.join, judged: new Set(), lacking: new Set(), judging: Promise.resolve(undefined) },
      given: givenRows,
      work: { written: undefined },
      progress: { tell, percentages },
      clock,
      logger,
      at,
      close: () => {
        givenRows.isClosed = true;
        return releasers.close();
      },
    };
  } catch (error) {
    await releasers.close();
    throw stopReason(signal, error);
  }
}

/** Without a listener. */
const silent = () => undefined;

/**
 * What a run has chosen; null if it sends every record, or keeps its figures only. The choice of a run that has ended is
 * opened when it is needed: there may be nothing to write.
 */
async function openChosen(answers: AnswerStore, run: Run): Promise<ChosenAnswers | null> {
  if (run.choice === null || run.prunedAt !== null) return null;
  const { id, choice } = run;
  return isCompleted(run) ? openLater(() => answers.openChoice(id, choice)) : answers.openChoice(id, choice);
}

/**
 * Prepares each output once; its lock is freed when the run is closed.
 * @returns also the store, which is changed only while the prepared outputs are those of this process.
 */
function createPreparer(
  { pipeline, service, stateDir }: Pick<Config, 'pipeline' | 'service' | 'stateDir'>,
  { output, ...options }: RunOptions,
  context: StateContext,
  {
    store,
    lock: pipelineLock,
    outputs,
  }: Pick<OpenState, 'lock' | 'outputs'> & { readonly store: OutputStore },
  releasers: Releasers,
): { readonly preparer: (path: string) => Promise<void>; readonly output: OutputStore } {
  const prepared = new Map<string, PreparedOutput>();
  const place = { store, outputs, isLocal: output === undefined, stateDir, logger: context.logger };
  const preparer = async (path: string) => {
    if (prepared.has(path)) return;
    const writer = { pipeline, isTrial: service.embedded };
    const lock: PipelineLock = {
      take: async (_, holder) => {
        const one = await prepareOutput(place, writer, path, holder);
        prepared.set(path, one);
        return one;
      },
    };
    const wait = options.waitLock ?? 0;
    const holder = holderOf(options, context.clock);
    const { onProgress } = options;
    releasers.add(await waitForLock(lock, { pipeline, holder, wait, onProgress }, context));
  };
  const expectOurs = async () => {
    for (const one of prepared.values()) await one.expectOurs();
    await pipelineLock.expectHeld?.();
  };
  return { preparer, output: createWatchedStore(store, expectOurs) };
}
