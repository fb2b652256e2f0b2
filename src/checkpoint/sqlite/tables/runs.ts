/**
 * Runs: adds them, replaces the stamps of their source, fixes their join method, finds some of them, and sums them up.
 */
import type { Choice } from '../../../types.js';
import type { Checkpoint, CheckpointReader } from '../../checkpoint.js';
import {
  BY_STATE,
  MERGED,
  type MergedRow,
  type SearchesRow,
  type StateRow,
  toTally,
  UPLOADS,
  type UploadsRow,
} from '../../rows/report-rows.js';
import { type RunRow, toRun, toRunIfAny } from '../../rows/run-row.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';

/** Makes the changes of what is known about a run when it begins. */
export function newRunChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordRun' | 'recordSourceStamp' | 'recordJoin'> {
  const insertRun = db.prepare(`
    INSERT INTO runs (id, pipeline, service, label, source, frozen, canary, choice, rehearsal, created_at, state)
    VALUES (@id, @pipeline, @service, @label, @source, @frozen, @canary, @choice, @rehearsal, @createdAt, 'open')
    ON CONFLICT (id) DO NOTHING`);
  const replaceSource = db.prepare(`
    UPDATE runs SET source = @source
    WHERE id = @run AND state <> 'superseded' AND source ->> 'sha256' = @sha256`);
  const fixJoin = db.prepare(`
    UPDATE runs SET join_way = @join
    WHERE id = @run AND state <> 'superseded' AND (join_way IS NULL OR
      (join_way -> 'by', join_way -> 'column', join_way -> 'columns') IS
      (@join -> 'by', @join -> 'column', @join -> 'columns'))`);

  return {
    recordRun: db.change((run) => {
      const { id, pipeline, service, label, canary, createdAt } = run;
      const source = JSON.stringify(run.source);
      const frozen = JSON.stringify(run.frozen);
      const choice = run.choice && JSON.stringify(run.choice);
      const rehearsal = Number(run.choice?.rehearsal === true);
      const row = { id, pipeline, service, label, source, frozen, canary, choice, rehearsal, createdAt };
      const inserted = insertRun.run(row);
      expectOneRow(inserted, 'recordRun', `run ${id} exists already`);
    }),
    recordSourceStamp: db.change((run, source) => {
      const replaced = replaceSource.run({ run, source: JSON.stringify(source), sha256: source.sha256 });
      expectOneRow(replaced, 'recordSourceStamp', `no run ${run} of a source with this content`);
    }),
    recordJoin: db.change((run, join) => {
      const fixed = fixJoin.run({ run, join: JSON.stringify(join) });
      expectOneRow(fixed, 'recordJoin', `run ${run} is superseded, or joins in another way`);
    }),
  };
}

/** By the order of insertion, because the clock may have been set back between two runs. */
const NEWEST_FIRST = 'ORDER BY rowid DESC';

/** Makes `longestAges`, `latestRun`, `doneRuns` and `tally`. */
export function runReads(
  db: StateDatabase,
): Pick<CheckpointReader, 'longestAges' | 'latestRun' | 'doneRuns' | 'tally'> {
  const ages = db.prepare<[], Pick<Choice, 'maxAge' | 'failedAge'>>(`
    SELECT coalesce(max(choice ->> 'maxAge'), 0) AS maxAge, coalesce(max(choice ->> 'failedAge'), 0) AS failedAge
    FROM runs WHERE choice IS NOT NULL AND pruned_at IS NULL`);
  // Publications are in order by their numbers. A withheld or confirmed run has none, so its end counts.
  const latest = db.prepare<[string, number | null], RunRow>(`
    WITH
      mine AS (
        SELECT rowid, publication ->> 'number' AS number, * FROM runs
        WHERE pipeline = ? AND record_limit IS ?),
      published AS (SELECT finished_at, rowid FROM mine WHERE state = 'done' AND number IS NOT NULL ORDER BY number DESC LIMIT 1)
    SELECT * FROM mine WHERE state <> 'superseded'
    ORDER BY
      CASE
        WHEN state IN ('open', 'publishing') THEN 0
        WHEN number IS NULL AND (finished_at, rowid) > (SELECT finished_at, rowid FROM published) THEN 1
        WHEN number IS NOT NULL THEN 2
        ELSE 3
      END,
      CASE state WHEN 'done' THEN coalesce(number, finished_at) WHEN 'withheld' THEN finished_at END DESC,
      rowid DESC
    LIMIT 1`);
  const done = db.prepare<[string, string, string], RunRow>(`
    SELECT * FROM runs WHERE pipeline = ? AND service = ? AND source ->> 'sha256' = ?
      AND state IN ('done', 'withheld') ${NEWEST_FIRST}`);
  // The tally is read from indexes only, so that it is fast even with a hundred thousand chunks.
  const byState = db.prepare<object, StateRow>(BY_STATE);
  const merged = db.prepare<object, MergedRow>(MERGED);
  const chunksUpTo = db
    .prepare<[string, number], number>(`
      SELECT count(*) FROM chunks INDEXED BY chunks_in_order
      WHERE run = ? AND round = 0 AND state <> 'split' AND last_record <= ?`)
    .pluck();
  const uploads = db.prepare<object, UploadsRow>(UPLOADS);
  const searches = db.prepare<[string], SearchesRow>(`
    SELECT state, count(*) AS count FROM searches INDEXED BY searches_by_state WHERE run = ? GROUP BY state`);

  return {
    longestAges: db.read(() => ages.get()!),
    latestRun: db.read((pipeline, limit) => toRunIfAny(latest.get(pipeline, limit ?? null))),
    doneRuns: db.read((pipeline, service, sourceSha256) =>
      done.all(pipeline, service, sourceSha256).map((row) => toRun(row)),
    ),
    tally: db.readTogether((run) => {
      const rows = merged.get({ run })!;
      return toTally({
        byState: byState.all({ run }),
        merged: rows,
        chunksMerged: chunksUpTo.get(run, rows.last)!,
        uploads: uploads.get({ run })!,
        searches: searches.all(run),
      });
    }),
  };
}
