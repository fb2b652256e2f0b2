/** A pipeline has one unfinished run at most: a published one cannot be opened again beside it. */
import { ConfigError, type OpenRun } from '../src/index.js';

/**
 * @param verb what is to be done with the run.
 * @throws ConfigError `<VERB>_RUN_NOT_LAST`.
 */
export async function checkNoOtherOpen(run: OpenRun, verb: 'adopt' | 'retry'): Promise<void> {
  const unfinished = await run.checkpoint.unfinishedRun(run.config.pipeline);
  if (unfinished === undefined || unfinished.id === run.id) return;
  throw new ConfigError(
    `${verb.toUpperCase()}_RUN_NOT_LAST`,
    `run ${run.id} cannot be opened while run ${unfinished.id} is`,
    {
      hint: `finish run ${unfinished.id} with foliopipe run, then ${verb}`,
      facts: { run: run.id, unfinished: unfinished.id },
    },
  );
}
