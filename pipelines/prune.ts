/** Removes the results of a pipeline's old runs, by command or after a run. */
import {
  type Config,
  checkCall,
  type OpenRun,
  type PrunedRun,
  pruneAnswers,
  pruneRuns,
  type RunOptions,
  unknownRunFolders,
  withState,
} from '../src/index.js';

/** Which runs `prune` looks at. */
export interface PruneOptions
  extends Pick<
    RunOptions,
    'signal' | 'logger' | 'waitLock' | 'holder' | 'clock' | 'checkpoint' | 'lock' | 'files' | 'answers'
  > {
  /** How long ago a run must have ended to lose its results, in ms. Default: `retention.results`. */
  readonly olderThan?: number | undefined;
  /** Only report what would be removed. */
  readonly dryRun?: boolean | undefined;
}

/** What `prune` has removed. */
export interface Pruned {
  readonly runs: readonly PrunedRun[];
  /** Folders that belong to no known run. They are reported, never removed. */
  readonly unknown: readonly string[];
}

/**
 * Takes the pipeline's lock. The costs of pruned runs stay in the ledger, and their sources are not paid for again. The
 * output of a pruned run cannot be written again.
 * @throws LockedError when a run of the pipeline is working.
 */
export async function prune(config: Config, options: PruneOptions = {}): Promise<Pruned> {
  checkCall('prune', { config, options });
  const { olderThan = config.retention.results, dryRun = false } = options;
  return withState(config, options, async ({ checkpoint, files, answers, copies, clock, logger }) => {
    const now = clock.now();
    const context = { checkpoint, logger, files, answers, copies, config };
    const runs = await pruneRuns(context, { before: now - olderThan, now, dryRun });
    return { runs, unknown: await unknownRunFolders(checkpoint, files) };
  });
}

/**
 * Prunes after a run, by `retention.results` and `reuse.maxAge`. An error is only logged. Ages count up to the time at
 * which the run began: a clock that was set ahead since then would make everything too old.
 */
export async function pruneAfter(run: OpenRun): Promise<void> {
  const { config, checkpoint, logger, answers, copies, fileStore: files } = run;
  const now = run.clock.now();
  const beganAt = async () => Math.min(now, (await checkpoint.run(run.id))!.createdAt);
  try {
    const limits = { before: (await beganAt()) - config.retention.results, now, keep: run.id };
    const { length: count } = await pruneRuns({ checkpoint, logger, files, answers, copies, config }, limits);
    if (count > 0)
      logger.info(
        { runs: count },
        `the results of ${count} old ${count === 1 ? 'run' : 'runs'} are removed (retention.results)`,
      );
  } catch (error) {
    logger.warn({ error: String(error) }, `old results could not be removed: ${String(error)}`);
  }
  try {
    const terms = { now: await beganAt(), isAutomatic: true };
    const removed = await pruneAnswers({ checkpoint, answers, config }, terms);
    if (removed.length > 0)
      logger.info(
        { segments: removed.length },
        `the answers of ${removed.length} old ${removed.length === 1 ? 'run' : 'runs'} are removed (reuse.maxAge)`,
      );
  } catch (error) {
    logger.warn({ error: String(error) }, `old answers could not be removed: ${String(error)}`);
  }
}
