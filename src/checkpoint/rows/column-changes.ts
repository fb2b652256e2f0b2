/** The columns that the service adds, which are fixed before the first merge. */
import type { Checkpoint } from '../checkpoint.js';
import { ask, askForRow, type MakeChange } from './change.js';
import { UNMERGE } from './chunk-rows.js';

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

/** Makes `recordColumns`, `recordColumnsAdded` and `recordUnjoined`. */
export function columnChanges(
  make: MakeChange,
): Pick<Checkpoint, 'recordColumns' | 'recordColumnsAdded' | 'recordUnjoined'> {
  return {
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
