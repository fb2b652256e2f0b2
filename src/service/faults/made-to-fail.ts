/** The fault `fail`: decided by seed, folio and record alone, so that a folio gives the same whatever comes between. */
import type { Failure } from '../predictors/predictor.js';
import type { Folio } from '../store/folio.js';
import { rollDice } from './dice.js';

export const MADE_TO_FAIL: Failure = { reason: 'made to fail by a fault rule' };

/** @returns which records (1-based in the upload) are made to fail; undefined where none are. */
export function recordsMadeToFail(
  folio: Pick<Folio, 'id' | 'failShare' | 'failSeed'>,
): ((record: number) => boolean) | undefined {
  const { id, failShare, failSeed } = folio;
  if (failShare === 0) return undefined;
  return (record) => rollDice(failSeed, 'fail', id, record) < failShare;
}
