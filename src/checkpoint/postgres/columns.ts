/** The settings that are fixed before the first merge: the columns that the service adds, and the join method. */
import { fenced, HELD } from '../../postgres/fenced.js';
import { statement } from '../../postgres/statement.js';
import type { Checkpoint } from '../checkpoint.js';
import { unmerge } from './merges.js';
import { expectRow, type StateSession } from './state-session.js';

// The work file begins with the header, so the columns can change only while nothing is merged.
const fixColumns = statement(`
  UPDATE runs SET columns = @columns
  WHERE id = @run AND state <> 'superseded' AND (columns = @columns
    OR NOT EXISTS (SELECT 1 FROM stretches WHERE run = @run))
  RETURNING id`);
// A list in JSON begins with another if the other without its last bracket is followed by a comma.
const addColumns = statement(`
  UPDATE runs SET columns = @columns
  WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL
    AND substr(@columns, 1, length(columns)) = substr(columns, 1, length(columns) - 1) || ','
  RETURNING id`);
const learnColumns = statement(`
  INSERT INTO pipeline_columns (pipeline, service, columns)
  SELECT pipeline, service, @columns::text FROM runs WHERE id = @run
  ON CONFLICT (pipeline, service) DO UPDATE SET columns = excluded.columns`);
const isSame = (key: string) =>
  `(join_way::jsonb -> '${key}') IS NOT DISTINCT FROM (@join::text::jsonb -> '${key}')`;
const fixJoin = fenced(`
  fixed AS (
    UPDATE runs SET join_way = @join::text
    WHERE id = @run AND state <> 'superseded' AND ${HELD}
      AND (join_way IS NULL OR (${isSame('by')} AND ${isSame('column')} AND ${isSame('columns')}))
    RETURNING id)
  SELECT id FROM fixed`);
const forgetColumns = statement(`
  DELETE FROM pipeline_columns
  WHERE (pipeline, service) IN (SELECT pipeline, service FROM runs WHERE id = @run)`);
const unfixRun = statement(`
  UPDATE runs SET join_way = NULL, columns = NULL
  WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL RETURNING id`);

/** Makes `recordColumns`, `recordColumnsAdded`, `recordJoin` and `recordUnjoined`. */
export function columnChanges(
  db: StateSession,
): Pick<Checkpoint, 'recordColumns' | 'recordColumnsAdded' | 'recordJoin' | 'recordUnjoined'> {
  return {
    recordColumns: (run, list, learned) =>
      db.changes(async (query) => {
        const columns = JSON.stringify(list);
        const missing = `run ${run} is superseded, or has merged rows with other columns`;
        expectRow(await query(fixColumns, { run, columns }), 'recordColumns', missing);
        if (learned) await query(learnColumns, { run, columns });
      }),
    recordColumnsAdded: (run, list) =>
      db.changes(async (query) => {
        const columns = JSON.stringify(list);
        const missing = `run ${run} is superseded or pruned, or its columns are not the first of these`;
        expectRow(await query(addColumns, { run, columns }), 'recordColumnsAdded', missing);
        await query(learnColumns, { run, columns });
        await query(unmerge, { run, fromRecord: 1 });
      }),
    recordJoin: async (run, join) => {
      const missing = `run ${run} is superseded, or joins in another way`;
      await db.change(fixJoin, { run, join: JSON.stringify(join) }, 'recordJoin', missing);
    },
    recordUnjoined: (run) =>
      db.changes(async (query) => {
        expectRow(await query(unfixRun, { run }), 'recordUnjoined', `no run ${run} that keeps its results`);
        await query(forgetColumns, { run });
        await query(unmerge, { run, fromRecord: 1 });
      }),
  };
}
