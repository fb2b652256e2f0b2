/** What is fixed for, and what has reached, the work file. Merged chunks are the source's first, without a gap. */
import type { JoinMethod } from '../../types.js';
import type { Checkpoint, CheckpointReader, ChunkCounts } from '../checkpoint.js';
import { expectOne, type StateDatabase } from './state-database.js';

type MergeMethod = 'recordColumns' | 'recordJoin' | 'recordUnjoined' | 'recordMerged' | 'recordUnmerged';

const TAKE_OUT = `
  UPDATE chunks INDEXED BY chunks_merged
  SET merged_end = NULL, merged_successful = NULL, merged_failed = NULL,
    merged_unprocessed = NULL, merged_indistinct = NULL, merged_sha256 = NULL
  WHERE run = @run AND merged_end IS NOT NULL`;

/** Chunks of `@run` that begin at `@fromRecord` or behind it are no longer in the work file. */
export const UNMERGE = `${TAKE_OUT} AND first_record >= @fromRecord`;

/**
 * The same, where a chunk that was given up is answered after all. In a run without columns no chunk stays: the answer
 * may be the first success, whose columns the rows before it are to have too.
 */
export const UNMERGE_FOR_ANSWER = `${TAKE_OUT} AND (first_record >= @fromRecord
    OR EXISTS (SELECT 1 FROM runs WHERE id = @run AND (columns IS NULL OR columns = '[]')))`;

/** Makes the five changes around the merge. */
export function mergeChanges(db: StateDatabase): Pick<Checkpoint, MergeMethod> {
  // The header stands at the head of the work file: other columns are possible only while nothing is merged.
  const fixColumns = db.prepare(`
    UPDATE runs SET columns = @columns
    WHERE id = @run AND state <> 'superseded' AND (columns = @columns
      OR NOT EXISTS (SELECT 1 FROM chunks WHERE run = @run AND merged_end IS NOT NULL))`);
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
  const unfix = db.prepare(`
    UPDATE runs SET join_way = NULL, columns = NULL
    WHERE id = @run AND state <> 'superseded' AND pruned_at IS NULL`);
  // For more than two values in one IN, SQLite makes a table each time.
  const merge = db.prepare(`
    UPDATE chunks SET merged_end = @mergedEnd, merged_successful = @successful, merged_failed = @failed,
      merged_unprocessed = @unprocessed, merged_indistinct = @indistinct, merged_sha256 = @sha256
    WHERE run = @run AND number = @chunk AND round = 0 AND merged_end IS NULL
      AND (state = 'downloaded' OR state IN ('unprocessed', 'refused'))
      AND records = @successful + @failed + @unprocessed
      AND NOT EXISTS (
        SELECT 1 FROM (
          SELECT merged_end FROM chunks AS before INDEXED BY chunks_in_order
          WHERE before.run = @run AND before.round = 0 AND before.state <> 'split'
            AND before.first_record < chunks.first_record
          ORDER BY before.first_record DESC LIMIT 1)
        WHERE merged_end IS NULL)`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordColumns: db.change((run: string, columns: readonly string[], learned: boolean) => {
      const fixed = fixColumns.run({ run, columns: JSON.stringify(columns) });
      expectOne(fixed, 'recordColumns', `run ${run} is superseded, or has merged chunks with other columns`);
      if (learned) learnColumns.run({ run, columns: JSON.stringify(columns) });
    }),
    recordJoin: db.change((run: string, join: JoinMethod) => {
      const fixed = fixJoin.run({ run, join: JSON.stringify(join) });
      expectOne(fixed, 'recordJoin', `run ${run} is superseded, or joins in another way`);
    }),
    recordUnjoined: db.change((run: string) => {
      expectOne(unfix.run({ run }), 'recordUnjoined', `no run ${run} that keeps its results`);
      forgetColumns.run({ run });
      unmerge.run({ run, fromRecord: 1 });
    }),
    recordMerged: db.redoableChange(
      (run: string, chunk: number, counts: ChunkCounts, mergedEnd: number, sha256: string) => {
        const { successful, failed, unprocessed, indistinct } = counts;
        const merged = merge.run({
          run,
          chunk,
          successful,
          failed,
          unprocessed,
          indistinct,
          mergedEnd,
          sha256,
        });
        const missing = `chunk ${chunk} of run ${run} is not the next to merge, or has other counts`;
        expectOne(merged, 'recordMerged', missing);
      },
    ),
    recordUnmerged: db.change((run: string, fromRecord: number) => {
      unmerge.run({ run, fromRecord });
    }),
  };
}

// Columns that a pipeline's results have had on a service.

/** Makes `knownColumns`. */
export function columnReads(db: StateDatabase): Pick<CheckpointReader, 'knownColumns'> {
  const known = db
    .prepare<[string, string], string>(
      'SELECT columns FROM pipeline_columns WHERE pipeline = ? AND service = ?',
    )
    .pluck();

  return {
    knownColumns: db.read((pipeline: string, service: string) => {
      const columns = known.get(pipeline, service);
      return columns === undefined ? undefined : (JSON.parse(columns) as string[]);
    }),
  };
}
