/**
 * Whether the table of the config would take the output: the item `load` of `foliopipe check`, and the same once more
 * when the first results show the columns of the service.
 */

import type { Checkpoint } from '../../checkpoint/checkpoint.js';
import type { Config } from '../../config/schema.js';
import { STREAM } from '../../config/sections/values.js';
import { FoliopipeError } from '../../errors.js';
import type { LoadTarget } from '../../load/load-target.js';
import type { LayoutSource } from '../../results/output-layout.js';
import type { RunContext } from '../../run-context.js';
import type { MergedStretch } from '../../stages/merge/merge-stretch.js';
import { expectedColumns } from '../../stages/merge/result-columns.js';
import { serviceIdentity } from '../configured-service.js';
import { checkLoad } from '../load/load-run.js';
import { openStateReader } from '../state-reader.js';
import { unsure, type Verdict } from './judge-service.js';

/** Why the table cannot be checked: without the columns of the source, those of the output are not known. */
export function uncheckedLoad({ source }: Config): Verdict {
  return source.path === STREAM
    ? unsure(
        'the columns of standard input are not known yet; foliopipe run and submit check before they pay',
      )
    : unsure('not checked, because the columns of the source are not known: correct the source first');
}

/**
 * Checks as a new run does: of the columns that the service adds, the declared ones and those that the pipeline has
 * learned are known.
 * @param isLocal whether the service says that it is a local one.
 * @returns what is printed about it.
 * @throws FoliopipeError as `LoadTarget.check` does.
 */
export async function checkLoadTarget(
  config: Config,
  loadTarget: LoadTarget,
  source: LayoutSource,
  { isLocal, signal }: { readonly isLocal: boolean; readonly signal: AbortSignal },
): Promise<string> {
  // Problems of the state are another item of the check.
  const reader = await openStateReader(config).catch(() => undefined);
  try {
    const checkpoint = reader ?? { knownColumns: async () => undefined };
    const { pipeline } = config;
    const row = { pipeline, service: serviceIdentity(config), columns: null, source, choice: null };
    await checkLoad({ config, checkpoint, loadTarget, signal }, row);
  } finally {
    await reader?.close();
  }
  const { table, into } = config.load!;
  const text = `${table} of ${into} takes the output`;
  return isLocal ? `${text}; what the local service answers is a rehearsal, and is never loaded` : text;
}

type CheckLearnedNeeds = Pick<
  RunContext,
  'id' | 'config' | 'loadTarget' | 'signal' | 'uploads' | 'deferred' | 'logger'
> & {
  readonly checkpoint: Pick<Checkpoint, 'knownColumns' | 'run'>;
};

/**
 * Passes the merged rows on. If the columns of the service were unknown until the first rows, checks then whether the
 * table can take them. (A canary shows the columns earlier.) If it cannot, nothing more is uploaded, what is sent already
 * goes on, and the run ends with that error.
 */
export function checkLearned(
  run: CheckLearnedNeeds,
): (merged: AsyncIterable<MergedStretch>) => AsyncGenerator<MergedStretch> {
  return async function* checkFirst(merged) {
    const row = (await run.checkpoint.run(run.id))!;
    let isChecked = run.loadTarget === null || (await expectedColumns(run, row)).length > 0;
    for await (const rows of merged) {
      if (!isChecked) {
        isChecked = true;
        await checkNow(run);
      }
      yield rows;
    }
  };
}

async function checkNow(run: CheckLearnedNeeds): Promise<void> {
  try {
    await checkLoad(run, (await run.checkpoint.run(run.id))!);
  } catch (error) {
    if (!(error instanceof FoliopipeError) || run.signal.aborted) throw error;
    run.logger.warn(
      { code: error.code, ...error.facts },
      `${error.message}; nothing more is uploaded, and what was sent already continues`,
    );
    run.uploads.stopped = true;
    run.deferred.error ??= error;
  }
}
