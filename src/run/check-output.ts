/** Checks where a run writes, before it begins. Changes nothing, and leaves nothing behind. */
import { join } from 'node:path';
import type { Config } from '../config/schema.js';
import { STREAM } from '../config/values.js';
import { ConfigError } from '../errors.js';
import type { OutputStore } from '../files/output-store.js';
import { outputNames } from '../report/manifest.js';
import { refuseOtherPipeline } from '../report/output-owner.js';
import { futureMatches } from '../source/future-files.js';

/**
 * Checks that a run could put its output in place, and that its source would not match what it writes.
 * @param paths the files of the source.
 * @throws ConfigError as `OutputStore.check` and `checkWritable`; `OUTPUT_OF_OTHER_PIPELINE`, `OUTPUT_IN_SOURCE`,
 *   `STATE_IN_SOURCE`.
 */
export async function checkOutput(
  config: Pick<Config, 'pipeline' | 'service' | 'source' | 'output' | 'stateDir'>,
  store: OutputStore,
  paths: readonly string[],
): Promise<void> {
  const { path } = config.output;
  const names = outputNames(path, config.stateDir);
  await store.check(names, paths);
  await refuseOwnFiles(config, paths);
  await store.checkWritable(names);
  const writer = { pipeline: config.pipeline, isTrial: config.service.embedded };
  await refuseOtherPipeline(store, path, writer);
}

/**
 * Refuses a source pattern that would match what foliopipe itself writes: the next run would read it as its source.
 * @param paths the files of the source. A source that is the name of one file matches nothing else.
 * @throws ConfigError `OUTPUT_IN_SOURCE`, `STATE_IN_SOURCE`.
 */
export async function refuseOwnFiles(
  { source, output, stateDir }: Pick<Config, 'source' | 'output' | 'stateDir'>,
  paths: readonly string[],
): Promise<void> {
  const pattern = source.path;
  if (pattern === null || pattern === STREAM) return;
  if (paths.length === 1 && paths[0] === pattern) return;
  const { output: path, beside, local } = outputNames(output.path, stateDir);
  const ofState = ['chunk-000001.csv', 'part-000001-successful-0-0000000000000000.csv.gz'].map((name) =>
    join(stateDir, 'runs', 'RUN', name),
  );
  const [matched] = await futureMatches(pattern, [path, ...beside, ...local, ...ofState]);
  if (matched === undefined) return;
  const isState = ofState.includes(matched);
  const what = isState
    ? `files in stateDir, such as ${matched}`
    : `what is written for the output, such as ${matched}`;
  throw new ConfigError(
    isState ? 'STATE_IN_SOURCE' : 'OUTPUT_IN_SOURCE',
    `source.path ${pattern} also matches ${what}: the next run would read it as its source`,
    {
      hint: `give source.path a pattern that does not match it, or set ${isState ? 'stateDir' : 'output.path'} to a folder that the pattern does not reach`,
      facts: { pattern, path: matched },
    },
  );
}
