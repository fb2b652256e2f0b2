/**
 * Copies a state from a folder into Postgres, or back. Invariant: at no moment can both be used to pay. The copy is
 * marked until it is complete and compared. Then the state that was copied is marked for good, and only after that is the
 * mark of the copy removed.
 */

import { resolve } from 'node:path';
import { checkCall } from '../../check-call.js';
import { holderHere } from '../../checkpoint/sqlite/lock-file.js';
import type { StatePlace } from '../../config/sections/state-section.js';
import { ConfigError } from '../../errors.js';
import { withContext } from '../open/open-state.js';
import type { RunOptions } from '../run-options.js';
import type { CopiedState } from './copied-state.js';

/** Which state is copied, and where to. */
export interface CopyStateOptions extends Pick<RunOptions, 'signal' | 'logger' | 'clock' | 'holder'> {
  readonly from: StatePlace;
  readonly to: StatePlace;
  /** A pipeline that must not begin meanwhile, also if it has no run yet. */
  readonly pipeline: string;
}

/** How a state may be shown. */
function placeText({ state, stateDir }: StatePlace): string {
  return state === null ? resolve(stateDir) : String(state);
}

/**
 * No pipeline may be running in either state. Sends no request. A copy that was stopped is begun again by the same call.
 * @throws LockedError `PIPELINE_LOCKED`, `STATE_COPY_FLEET`; ConfigError `STATE_COPY_PLACES`, `STATE_MISSING`,
 *   `STATE_NOT_EMPTY`, `STATE_MOVED`,
 *   `STATE_COPY_UNFINISHED`, `STATE_COPY_PIPELINES`, `STATE_COPY_ANSWERS`, `CHECKPOINT_BEHIND`; GuardError `RESTORED_UNCONFIRMED`; TroubleError
 *   `STATE_COPY_DIFFERS`.
 */
export async function copyState(options: CopyStateOptions): Promise<CopiedState> {
  checkCall('copyState', {
    needs: options,
    from: options?.from,
    to: options?.to,
    pipeline: options?.pipeline,
  });
  const { from, to, pipeline } = options;
  if ((from.state === null) === (to.state === null)) {
    const what = from.state === null ? 'two folders' : 'two databases';
    throw new ConfigError(
      'STATE_COPY_PLACES',
      `a state is copied between a folder and a database, not between ${what}`,
    );
  }
  const copy =
    to.state === null
      ? (await import('./copy-to-folder.js')).copyToFolder
      : (await import('./copy-to-database.js')).copyToDatabase;
  const copied = await withContext(options, (context) => {
    const now = context.clock.now();
    return copy(from, to, { ...context, pipeline, now, holder: holderHere(options.holder, now) });
  });
  return { from: placeText(from), to: placeText(to), ...copied };
}
