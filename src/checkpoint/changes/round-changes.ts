/** Failed records sent again: a round is settled as a whole. */
import type { Checkpoint } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';
import { UNMERGE } from './merge-changes.js';

/** Makes `recordRoundSettled`. */
export function roundChanges(db: StateDatabase): Pick<Checkpoint, 'recordRoundSettled'> {
  const settle = db.prepare(`
    UPDATE runs SET round = @round
    WHERE id = @run AND state = 'open' AND round = @round - 1 AND NOT EXISTS (
      SELECT 1 FROM chunks INDEXED BY chunks_in_order
      WHERE run = @run AND round = @round AND state <> 'split'
        AND state NOT IN ('downloaded', 'unprocessed', 'refused'))`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordRoundSettled: db.change((run: string, round: number) => {
      const missing = `no open run ${run} whose round ${round} is the next and all answered or given up`;
      expectOne(settle.run({ run, round }), 'recordRoundSettled', missing);
      unmerge.run({ run, fromRecord: 1 });
    }),
  };
}
