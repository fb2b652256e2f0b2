/** Writes the output of a run again from its stored results, without the service. Releases one that is withheld. */
import {
  type Config,
  checkAllCollected,
  type RunOptions,
  type RunSummary,
  summarizeRun,
} from '../src/index.js';
import { closeBegunRounds } from './answer-failed.js';
import { mergeAndPublish } from './merge-and-publish.js';
import { unmergeAll } from './publish-again.js';
import { withReadyRun } from './with-ready-run.js';

/**
 * @param id names a run of the config's pipeline (see `namedRun`); its source must be unchanged.
 * @throws ConfigError when there is no such run; GuardError `RUN_PRUNED` when its results are removed; TroubleError
 *   when it is not complete yet.
 */
export async function publish(config: Config, id: string, options?: RunOptions): Promise<RunSummary> {
  return withReadyRun(config, { ...options, existing: id }, async (run) => {
    await checkAllCollected(run);
    await closeBegunRounds(run);
    await unmergeAll(run);
    const { state } = (await run.checkpoint.run(run.id))!;
    await mergeAndPublish(run, undefined, true);
    const released = state === 'withheld' ? 'foliopipe publish asked for it' : null;
    return summarizeRun(run, run.id, run.found, { released });
  });
}
