/** The settings that are fixed before the first merge: the columns that the service adds, and the join method. */
import type { Checkpoint } from '../../checkpoint.js';
import { UNMERGE } from '../../rows/chunk-rows.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';

/** Makes `recordColumns`, `recordColumnsAdded`, `recordJoin` and `recordUnjoined`. */
export function columnChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordColumns' | 'recordColumnsAdded' | 'recordJoin' | 'recordUnjoined'> {
  // The work file begins with the header, so the columns can change only while nothing is merged.
  const fixColumns = db.prepare(`
    UPDATE runs SET columns = @columns
    WHERE id = @run AND state <> 'superseded' AND (columns = @columns
      OR NOT EXISTS (SELECT 1 FROM stretches WHERE run = @run))`);
  // A list in JSON begins with another if the other without its last bracket is followed by a comma.
  const addColumns = db.prepare(`
    UPDATE runs SET columns = @columns
    WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL
      AND substr(@columns, 1, length(columns)) = substr(columns, 1, length(columns) - 1) || ','`);
  const learnColumns = db.prepare(`
    INSERT INTO pipeline_columns (pipeline, service, columns)
    SELECT pipeline, service, @columns FROM runs WHERE id = @run
    ON CONFLICT DO UPDATE SET columns = excluded.columns`);
  const fixJoin = db.prepare(`
    UPDATE runs SET join_way = @join
    WHERE id = @run AND state <> 'superseded' AND (join_way IS NULL OR
      (join_way -> 'by', join_way -> 'column', join_way -> 'columns') IS
      (@join -> 'by', @join -> 'column', @join -> 'columns'))`);
  const forgetColumns = db.prepare(`
    DELETE FROM pipeline_columns
    WHERE (pipeline, service) IN (SELECT pipeline, service FROM runs WHERE id = @run)`);
  const unfixRun = db.prepare(`
    UPDATE runs SET join_way = NULL, columns = NULL
    WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordColumns: db.change((run, columns, learned) => {
      const fixed = fixColumns.run({ run, columns: JSON.stringify(columns) });
      expectOneRow(fixed, 'recordColumns', `run ${run} is superseded, or has merged rows with other columns`);
      if (learned) learnColumns.run({ run, columns: JSON.stringify(columns) });
    }),
    recordColumnsAdded: db.change((run, columns) => {
      const added = addColumns.run({ run, columns: JSON.stringify(columns) });
      const text = `run ${run} is superseded or pruned, or its columns are not the first of these`;
      expectOneRow(added, 'recordColumnsAdded', text);
      learnColumns.run({ run, columns: JSON.stringify(columns) });
      unmerge.run({ run, fromRecord: 1 });
    }),
    recordJoin: db.change((run, join) => {
      const fixed = fixJoin.run({ run, join: JSON.stringify(join) });
      expectOneRow(fixed, 'recordJoin', `run ${run} is superseded, or joins in another way`);
    }),
    recordUnjoined: db.change((run) => {
      expectOneRow(unfixRun.run({ run }), 'recordUnjoined', `no run ${run} that keeps its results`);
      forgetColumns.run({ run });
      unmerge.run({ run, fromRecord: 1 });
    }),
  };
}
