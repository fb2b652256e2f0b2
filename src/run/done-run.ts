/** A run that is done: which one stands for a source, and whether it can be published again. */
import type { Run } from '../checkpoint/checkpoint.js';
import { changedValues, frozenValues } from '../config/frozen.js';
import { ConfigError } from '../errors/index.js';
import type { RunContext } from '../run-context.js';
import type { Source } from '../types.js';
import { checkSource } from './check-source.js';
import { resultsPruned, sourceIsAnother } from './refuse-run.js';

/**
 * The first of the runs that has read the source and sent it as the config says today; how it was cut does not matter.
 * @param done runs of one content, newest first.
 * @param frozen today's values.
 * @returns undefined where there is none at all.
 * @throws ConfigError `RUN_DONE_OTHERWISE` where there are only others.
 */
export function chooseDone(done: readonly Run[], frozen: Readonly<Record<string, string>>): Run | undefined {
  const today = Object.fromEntries(Object.entries(frozen).filter(([key]) => decidesWhatIsSent(key)));
  const [newest] = done;
  const chosen = done.find((run) => changedValues(run.frozen, today).keys.length === 0);
  if (chosen !== undefined || newest === undefined) return chosen;
  const { keys, lines } = changedValues(newest.frozen, today);
  throw new ConfigError(
    'RUN_DONE_OTHERWISE',
    `run ${newest.id} has done this source with other values:${lines}`,
    {
      hint: 'put the old values back to have its output; foliopipe run --new sends the source again, and pays again',
      facts: { run: newest.id, keys: keys.join(', ') },
    },
  );
}

function decidesWhatIsSent(key: string): boolean {
  return key.startsWith('source.') || key.startsWith('upload.');
}

/**
 * The source of a done run as its files are now, for its rows to be written again.
 * @param why they are to be.
 * @throws GuardError `RUN_PRUNED`; ConfigError `RUN_DONE_OTHERWISE`; SourceError when the source is another.
 */
export async function checkDoneSource(
  { id, config, checkpoint, signal }: Pick<RunContext, 'id' | 'config' | 'checkpoint' | 'signal'>,
  why: string,
): Promise<Source> {
  const row = (await checkpoint.run(id))!;
  if (row.prunedAt !== null) throw resultsPruned(row, why);
  chooseDone([row], frozenValues(config, row.service));
  const source = await checkSource(config, { signal }, row);
  if (source.sha256 !== row.source.sha256) throw sourceIsAnother(row, source);
  if (source !== row.source) await checkpoint.recordSourceStamp(id, source);
  return source;
}
