/** Opens a run as `withRun` does, once an output whose publishing was interrupted stands in its place. */
import { type Config, type OpenRun, putInPlace, type RunOptions, withRun } from '../src/index.js';

export async function withSettledRun<T>(
  config: Config,
  options: RunOptions | undefined,
  body: (run: OpenRun) => Promise<T>,
): Promise<T> {
  const settled = await withRun(config, options, async (run) => {
    if (run.found !== 'publishing') return { result: await body(run) };
    const row = await run.checkpoint.run(run.id);
    await putInPlace(run, row!.publication!);
    return undefined;
  });
  return settled === undefined ? withSettledRun(config, options, body) : settled.result;
}
