/** Opens a run like `withRun`, but first finishes steps that an earlier process left unfinished. */
import {
  type CheckpointReader,
  type Config,
  ConfigError,
  canReopen,
  checkCall,
  checkSuperseded,
  downloadParts,
  drain,
  findGivenUp,
  formatDuration,
  givenUpText,
  guardListeners,
  hasLostFolios,
  isCompleted,
  type OpenRun,
  openChunks,
  putInPlace,
  type RunOptions,
  recheckLostFolios,
  runStages,
  supersede,
  trackFolios,
  withHandedRecords,
  withRun,
} from '../src/index.js';
import { pruneAfter } from './prune.js';

/** A run that can go on, or is done. */
export type ReadyRun = OpenRun & { readonly found: Exclude<OpenRun['found'], 'publishing' | 'outdated'> };

/**
 * If publishing was interrupted, the output is put in place first. If the source has changed and `source.onChange` is
 * `supersede`, the old run is collected and superseded first.
 * @param body its parameter `published` says that an earlier process was interrupted while it published the run, and
 *   that this call has put the output in place.
 */
export async function withReadyRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: ReadyRun, published: boolean) => Promise<T>,
): Promise<T> {
  checkCall('withReadyRun', { config, options, body });
  return withHandedRecords(guardListeners(options ?? {}), (handed) =>
    withFinishedRun(config, handed, body, undefined),
  );
}

/** @param published the run whose output this call has put in place. */
async function withFinishedRun<T>(
  config: Config,
  options: RunOptions,
  body: (run: ReadyRun, published: boolean) => Promise<T>,
  published: string | undefined,
): Promise<T> {
  const ready = await withRun(config, options, async (run) => {
    if (!isReady(run)) {
      const goOn = await finishEarlier(run, options);
      return { goOn, finished: run.found === 'publishing' ? run.id : published };
    }
    const result = await body(run, run.id === published);
    await pruneAfter(run);
    return { result };
  });
  return 'goOn' in ready ? withFinishedRun(config, ready.goOn, body, ready.finished) : ready.result;
}

/**
 * Finishes what an earlier process has left.
 * @returns the options with which to open the run again. The same command may have begun the finished run before a kill.
 *   So with `fresh`, it begins no further run of the same content. Without it, it does not ask a query again, which may
 *   give other content each time: that would be paid for.
 */
export async function finishEarlier(run: OpenRun, options: RunOptions): Promise<RunOptions> {
  if (run.found === 'outdated') {
    await collectOutdated(run, options);
    return options;
  }
  const { createdAt, publication } = (await run.checkpoint.run(run.id))!;
  await putInPlace(run, publication!);
  const { existing, fresh } = options;
  const isQuery = run.config.source.query !== null;
  if (existing !== undefined || (!isQuery && !fresh)) return options;
  const age = formatDuration(run.clock.now() - createdAt);
  const what = fresh
    ? `run ${run.id} of ${age} ago is published, and no further run of the same content is begun; to begin one, run the same command again`
    : `what the query gave ${age} ago is published; run the same command again to ask again`;
  run.logger.info({ run: run.id }, what);
  return { ...options, ...(fresh ? { fresh: false } : { existing: true }) };
}

/**
 * Opens a run like `withReadyRun`, and asks for its lost folios once more. Sends no request if no folio is lost, or if
 * the run is done and cannot be opened again.
 * @param body its parameter `reopened` says that the run was done and is open again, because the service knows a lost
 *   folio; `published` is that of `withReadyRun`.
 */
export function withLostRechecked<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: ReadyRun, reopened: boolean, published: boolean) => Promise<T>,
): Promise<T> {
  return withHandedRecords(options ?? {}, async (handed) => {
    const done = await withReadyRun(config, handed, async (run, published) => {
      const reopened = await recheckLost(run);
      // The run must be found again, because it is unfinished now.
      const mustFind = run.found === 'done' && reopened;
      return mustFind ? { published } : { result: await body(run, reopened, published) };
    });
    if ('result' in done) return done.result;
    // Without `--new`, which would begin another run and give this one up.
    const again = { ...handed, fresh: false };
    return withReadyRun(config, again, (run) => body(run, true, done.published));
  });
}

/**
 * Checks that no other run is unfinished: a pipeline has at most one, and one sample of each limit, so a done run cannot
 * be opened beside it.
 * @param verb the name of the command.
 * @throws ConfigError `<VERB>_RUN_NOT_LAST`.
 */
export async function checkNoOtherOpen(
  run: Pick<OpenRun, 'id' | 'config' | 'source'> & {
    readonly checkpoint: Pick<CheckpointReader, 'unfinishedRun'>;
  },
  verb: 'adopt' | 'retry',
): Promise<void> {
  const unfinished = await run.checkpoint.unfinishedRun(run.config.pipeline, run.source.limit);
  if (unfinished === undefined || unfinished.id === run.id) return;
  throw new ConfigError(
    `${verb.toUpperCase()}_RUN_NOT_LAST`,
    `run ${run.id} cannot be changed while run ${unfinished.id} is unfinished`,
    {
      hint: `finish run ${unfinished.id} with: foliopipe run; then type foliopipe ${verb} again`,
      facts: { run: run.id, unfinished: unfinished.id },
    },
  );
}

export function isReady(run: OpenRun): run is ReadyRun {
  return run.found !== 'publishing' && run.found !== 'outdated';
}

/**
 * Ends a run whose source has changed: collects its open folios, so that a new run can replace it. Does not read the
 * source. With `yes`, folios that are not finished within `poll.timeout` are left behind. What is paid in vain is logged.
 * @throws OutageError when the service cannot be reached; TroubleError `FOLIOS_TIMED_OUT` when a folio is still open and
 *   `yes` is not set. The run then stays open.
 */
async function collectOutdated(run: OpenRun, options: Pick<RunOptions, 'reuse' | 'yes'>): Promise<void> {
  const track = trackFolios({ ...run, isGivenUpAfter: options.yes === true });
  await runStages(run.controller, openChunks(run), track, downloadParts(run), drain);
  if (run.deferred.error !== undefined) throw run.deferred.error;
  const row = (await run.checkpoint.run(run.id))!;
  const givenUp = await findGivenUp(run, options, row, true);
  await checkSuperseded(run.checkpoint, givenUp, options);
  await supersede(run.checkpoint, row, run.config.stateDir, run.clock.now());
  const left = (givenUp?.open.chunks ?? 0) + (givenUp?.ambiguous.chunks ?? 0);
  run.logger.warn(
    { run: run.id, collected: givenUp?.collected.chunks ?? 0, left, inVain: givenUp?.inVain.records ?? 0 },
    `run ${run.id} is superseded, because its source has changed: ${givenUp === undefined ? 'nothing was paid for in it' : givenUpText(givenUp)}`,
  );
}

/**
 * Asks for the lost folios of a run once more.
 * @returns whether the run had ended and is open again.
 */
export async function recheckLost(run: OpenRun): Promise<boolean> {
  if (run.found === 'new') return false;
  const row = (await run.checkpoint.run(run.id))!;
  if (row.prunedAt !== null || !(await hasLostFolios(run))) return false;
  const hasEnded = isCompleted(row);
  if (hasEnded && !(await canReopen(run))) return false;
  return (await recheckLostFolios(run)) > 0 && hasEnded;
}
