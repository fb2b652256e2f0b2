/** Which publication may follow which in a table, and when a delta is enough. Pure, the same for every database. */
import { ConfigError } from '../errors.js';
import type { LoadRequest } from './load-target.js';

/** The pipeline's load into the table with the highest number. */
export interface EarlierLoad extends Pick<LoadRequest, 'publication' | 'run' | 'mode' | 'onRemoved'> {
  /** The hash of the output, hex. */
  readonly sha256: string;
}

/**
 * Whether the publication is the one that was loaded last. Otherwise it is the next one to load.
 * @param last undefined before the first load.
 * @throws ConfigError `LOAD_OLDER`; `LOAD_CONFLICT` when another publication was loaded under the same number.
 */
export function isLoaded(request: LoadRequest, last: EarlierLoad | undefined): boolean {
  const { publication, pipeline, run, file, table } = request;
  if (last === undefined || publication > last.publication) return false;
  const facts = { run, publication, lastRun: last.run, lastPublication: last.publication };
  const anew = `if the state folder is a new one, its numbers began at 1 again: then delete the rows of pipeline ${pipeline} from foliopipe_loads`;
  if (publication < last.publication) {
    throw new ConfigError(
      'LOAD_OLDER',
      `publication ${publication} of pipeline ${pipeline} (run ${run}) is older than publication ${last.publication} (run ${last.run}), which ${table} has already`,
      {
        hint: `to load it anyway: foliopipe publish ${run}, which gives it a new number; ${anew}`,
        facts,
      },
    );
  }
  if (last.run === run && last.sha256 === file.sha256) return true;
  throw new ConfigError(
    'LOAD_CONFLICT',
    `${table} has a publication ${publication} of pipeline ${pipeline} already, but a different one, of run ${last.run}`,
    { hint: anew, facts },
  );
}

/**
 * Whether the delta turns what the table holds into the publication. After a load that has kept removed rows, only the
 * whole output shows which rows to delete. A table that lacks columns needs their values for every row.
 *
 * @param missing the columns of the output that the table lacks.
 */
export function takesDelta(
  { mode, onRemoved, delta }: Pick<LoadRequest, 'mode' | 'onRemoved' | 'delta'>,
  last: EarlierLoad | undefined,
  missing: readonly string[],
): boolean {
  if (mode !== 'merge' || delta === null || last === undefined || missing.length > 0) return false;
  const isBase = last.publication === delta.base.publication && last.sha256 === delta.base.sha256;
  const hasNoGone = last.mode === 'replace' || (last.mode === 'merge' && last.onRemoved === 'delete');
  return isBase && (hasNoGone || (last.mode === 'merge' && onRemoved === 'keep'));
}
