/** Writes the output of a run again from its stored results. Releases one that is withheld. */
import {
  type Config,
  checkAllCollected,
  checkCall,
  isCompleted,
  type Job,
  type RunOptions,
  type RunSummary,
  startJob,
} from '../src/index.js';
import { closeBegunRounds } from './answer-failed.js';
import { endOfRun } from './end-of-run.js';
import { fetchFinished } from './fetch-finished.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { unmergeAll } from './publish-again.js';
import { withReadyRun } from './with-ready-run.js';

/**
 * The service is asked only for parts that are missing or damaged on the disk.
 * @param id names a run of the config's pipeline (see `namedRun`); its source must be unchanged.
 * @throws ConfigError when there is no such run; GuardError `RUN_PRUNED` when its results are removed; TroubleError
 *   when it is not complete yet; OutageError when a part must be fetched again and the service does not answer.
 */
export function publish(config: Config, id: string, options: RunOptions = {}): Job<RunSummary> {
  return startJob(
    { ...options, existing: id, isServiceSpare: true, sendsNothing: true },
    (given) => publishRun(config, given),
    () => checkCall('publish', { config, run: id, options }),
  );
}

async function publishRun(config: Config, options: RunOptions): Promise<RunSummary> {
  return withReadyRun(config, options, async (run) => {
    const row = (await run.checkpoint.run(run.id))!;
    if (isCompleted(row)) {
      const deferred = await fetchFinished(run);
      if (deferred !== undefined) throw deferred;
    }
    await checkAllCollected(run);
    await closeBegunRounds(run);
    await unmergeAll(run);
    await mergeAndPublish(run, { isReleased: true });
    const released = row.state === 'withheld' ? 'publish asked for it' : null;
    return endOfRun(run, { released });
  });
}
