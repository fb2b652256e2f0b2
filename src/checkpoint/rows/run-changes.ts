/**
 * Changes of whole runs: a run is superseded, its results are removed, its replies contradict each other, a round of it is
 * closed, or rows of it are no longer in the work file.
 */
import type { Checkpoint } from '../checkpoint.js';
import { ask, askForRow, type MakeChange } from './change.js';
import { UNMERGE } from './chunk-rows.js';

const SUPERSEDE = `
  UPDATE runs SET state = 'superseded', finished_at = @at
  WHERE id = @run AND state IN ('open', 'publishing') RETURNING id`;
const PRUNE = `
  UPDATE runs SET pruned_at = @at
  WHERE id = @run AND state IN ('done', 'withheld', 'superseded') AND pruned_at IS NULL RETURNING id`;
const FORGET_RESULTS = [
  ...['parts', 'picked_records', 'chunks', 'stretches'].map(
    (table) => `DELETE FROM ${table} WHERE run = @run`,
  ),
  'UPDATE searches SET "values" = NULL WHERE run = @run',
];
// One of the replies came from a local service.
const MARK_MIXED = 'UPDATE runs SET mixed = 1, rehearsal = 1 WHERE id = @run RETURNING id';
type RunChange = 'recordSuperseded' | 'recordPruned' | 'recordMixed' | 'recordRoundClosed' | 'recordUnmerged';

/**
 * Makes them.
 * @param indexedBy names the index of chunks in order, where the database would not choose it.
 */
export function runChanges(make: MakeChange, indexedBy = ''): Pick<Checkpoint, RunChange> {
  const closeRound = `
    UPDATE runs SET round = @round
    WHERE id = @run AND state = 'open' AND round = @round - 1 AND NOT EXISTS (
      SELECT 1 FROM chunks ${indexedBy}
      WHERE run = @run AND round = @round AND state <> 'split'
        AND state NOT IN ('downloaded', 'unprocessed', 'refused'))
    RETURNING id`;
  return {
    recordSuperseded: make(function* (run, at) {
      const missing = `no run ${run} that is open or publishing`;
      yield* askForRow(SUPERSEDE, { run, at }, 'recordSuperseded', missing);
    }),
    recordPruned: make(function* (run, at) {
      const missing = `no run ${run} that is done, withheld or superseded and keeps its results`;
      yield* askForRow(PRUNE, { run, at }, 'recordPruned', missing);
      for (const sql of FORGET_RESULTS) yield* ask(sql, { run });
    }),
    recordMixed: make(function* (run) {
      yield* askForRow(MARK_MIXED, { run }, 'recordMixed', `no run ${run}`);
    }),
    recordRoundClosed: make(function* (run, round) {
      const missing = `no open run ${run} whose next round is ${round}, with all its chunks answered or given up`;
      yield* askForRow(closeRound, { run, round }, 'recordRoundClosed', missing);
      yield* ask(UNMERGE, { run, fromRecord: 1 });
    }),
    recordUnmerged: make(function* (run, fromRecord) {
      yield* ask(UNMERGE, { run, fromRecord });
    }),
  };
}
