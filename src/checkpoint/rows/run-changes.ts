/**
 * Changes of whole runs: a run is superseded, its results are removed, its replies contradict each other, its source is
 * cut completely, a round of it is closed, or rows of it are no longer in the work file; and the columns that the service
 * adds, which are fixed before the first merge.
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
const FIX_CHUNKS = `
  UPDATE runs SET chunks = coalesce(chunks, (SELECT count(*) FROM chunks
    WHERE run = @run AND round = 0 AND state <> 'split'))
  WHERE id = @run AND state = 'open' RETURNING id`;
// One of the replies came from a local service.
const MARK_MIXED = 'UPDATE runs SET mixed = 1, rehearsal = 1 WHERE id = @run RETURNING id';
// The work file begins with the header, so the columns can change only while nothing is merged.
const FIX_COLUMNS = `
  UPDATE runs SET columns = @columns
  WHERE id = @run AND state <> 'superseded' AND (columns = @columns
    OR NOT EXISTS (SELECT 1 FROM stretches WHERE run = @run))
  RETURNING id`;
// A list in JSON begins with another if the other without its last bracket is followed by a comma.
const ADD_COLUMNS = `
  UPDATE runs SET columns = @columns
  WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL
    AND substr(@columns, 1, length(columns)) = substr(columns, 1, length(columns) - 1) || ','
  RETURNING id`;
const LEARN_COLUMNS = `
  INSERT INTO pipeline_columns (pipeline, service, columns)
  SELECT pipeline, service, CAST(@columns AS TEXT) FROM runs WHERE id = @run
  ON CONFLICT (pipeline, service) DO UPDATE SET columns = excluded.columns`;
const FORGET_COLUMNS = `
  DELETE FROM pipeline_columns
  WHERE (pipeline, service) IN (SELECT pipeline, service FROM runs WHERE id = @run)`;
const UNFIX_RUN = `
  UPDATE runs SET join_way = NULL, columns = NULL
  WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL RETURNING id`;

type RunChange =
  | 'recordSuperseded'
  | 'recordPruned'
  | 'recordMixed'
  | 'recordAllCut'
  | 'recordRoundClosed'
  | 'recordUnmerged'
  | 'recordColumns'
  | 'recordColumnsAdded'
  | 'recordUnjoined';

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
    recordAllCut: make(function* (run) {
      yield* askForRow(FIX_CHUNKS, { run }, 'recordAllCut', `no run ${run} that is open`);
    }),
    recordRoundClosed: make(function* (run, round) {
      const missing = `no open run ${run} whose next round is ${round}, with all its chunks answered or given up`;
      yield* askForRow(closeRound, { run, round }, 'recordRoundClosed', missing);
      yield* ask(UNMERGE, { run, fromRecord: 1 });
    }),
    recordUnmerged: make(function* (run, fromRecord) {
      yield* ask(UNMERGE, { run, fromRecord });
    }),
    recordColumns: make(function* (run, list, learned) {
      const columns = JSON.stringify(list);
      const missing = `run ${run} is superseded, or has merged rows with other columns`;
      yield* askForRow(FIX_COLUMNS, { run, columns }, 'recordColumns', missing);
      if (learned) yield* ask(LEARN_COLUMNS, { run, columns });
    }),
    recordColumnsAdded: make(function* (run, list) {
      const columns = JSON.stringify(list);
      const missing = `run ${run} is superseded or pruned, or its columns are not the first of these`;
      yield* askForRow(ADD_COLUMNS, { run, columns }, 'recordColumnsAdded', missing);
      yield* ask(LEARN_COLUMNS, { run, columns });
      yield* ask(UNMERGE, { run, fromRecord: 1 });
    }),
    recordUnjoined: make(function* (run) {
      yield* askForRow(UNFIX_RUN, { run }, 'recordUnjoined', `no run ${run} that keeps its results`);
      yield* ask(FORGET_COLUMNS, { run });
      yield* ask(UNMERGE, { run, fromRecord: 1 });
    }),
  };
}
