/** Opens a run as `withRun` does, once what an earlier one has left undone is settled. */
import { type Config, type OpenRun, putInPlace, type RunOptions, withRun } from '../src/index.js';
import { collectOutdated } from './collect-outdated.js';
import { pruneAfter } from './prune.js';

/** A run that can be worked on, or is done. */
export type SettledRun = OpenRun & { readonly found: Exclude<OpenRun['found'], 'publishing' | 'outdated'> };

/**
 * An output whose publishing was interrupted is put in its place first; a run whose source has changed is
 * collected and superseded, where the config says so.
 */
export async function withSettledRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: SettledRun) => Promise<T>,
): Promise<T> {
  const settled = await withRun(config, options, async (run) => {
    if (isSettled(run)) {
      const result = await body(run);
      await pruneAfter(run);
      return { result };
    }
    if (run.found === 'outdated') await collectOutdated(run);
    else {
      const row = await run.checkpoint.run(run.id);
      await putInPlace(run, row!.publication!);
    }
    return undefined;
  });
  return settled === undefined ? withSettledRun(config, options, body) : settled.result;
}

function isSettled(run: OpenRun): run is SettledRun {
  return run.found !== 'publishing' && run.found !== 'outdated';
}
