/**
 * Runs: adds them, replaces the stamps of their source, fixes their join method, finds some of them, and sums them up.
 */
import { fenced, HELD } from '../../postgres/fenced.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Choice } from '../../types.js';
import type { Checkpoint, CheckpointReader } from '../checkpoint.js';
import { BY_STATE, MERGED, type TallyRows, toTally, UPLOADS } from '../rows/report-rows.js';
import { type RunRow, toRun, toRunIfAny } from '../rows/run-row.js';
import type { StateSession } from './state-session.js';

const insert = fenced(`
  added AS (
    INSERT INTO runs (id, pipeline, service, label, source, source_sha256, record_limit, frozen, canary, choice,
      rehearsal, created_at, state)
    SELECT @id::text, @pipeline::text, @service::text, @label::text, @source::text, @sha256::text, @limit::int8,
      @frozen::text, @canary::int8, @choice::text, @rehearsal::int2, @createdAt::int8, 'open'
    WHERE ${HELD} ON CONFLICT (id) DO NOTHING RETURNING id)
  SELECT id FROM added`);
const replaceSource = fenced(`
  replaced AS (
    UPDATE runs SET source = @source
    WHERE id = @run AND state <> 'superseded' AND source_sha256 = @sha256 AND ${HELD} RETURNING id)
  SELECT id FROM replaced`);
const isSame = (key: string) =>
  `(join_way::jsonb -> '${key}') IS NOT DISTINCT FROM (@join::text::jsonb -> '${key}')`;
const fixJoin = fenced(`
  fixed AS (
    UPDATE runs SET join_way = @join::text
    WHERE id = @run AND state <> 'superseded' AND ${HELD}
      AND (join_way IS NULL OR (${isSame('by')} AND ${isSame('column')} AND ${isSame('columns')}))
    RETURNING id)
  SELECT id FROM fixed`);

/** Makes the changes of what is known about a run when it begins. */
export function newRunChanges(
  db: StateSession,
): Pick<Checkpoint, 'recordRun' | 'recordSourceStamp' | 'recordJoin'> {
  return {
    recordRun: async (run) => {
      const { id, pipeline, service, label, canary, createdAt } = run;
      const values = {
        id,
        pipeline,
        service,
        label,
        canary,
        createdAt,
        source: JSON.stringify(run.source),
        sha256: run.source.sha256,
        limit: run.source.limit ?? null,
        frozen: JSON.stringify(run.frozen),
        choice: run.choice && JSON.stringify(run.choice),
        rehearsal: Number(run.choice?.rehearsal === true),
      };
      await db.change(insert, values, 'recordRun', `run ${id} exists already`);
    },
    recordSourceStamp: async (run, source) => {
      const values = { run, source: JSON.stringify(source), sha256: source.sha256 };
      const missing = `no run ${run} of a source with this content`;
      await db.change(replaceSource, values, 'recordSourceStamp', missing);
    },
    recordJoin: async (run, join) => {
      const missing = `run ${run} is superseded, or joins in another way`;
      await db.change(fixJoin, { run, join: JSON.stringify(join) }, 'recordJoin', missing);
    },
  };
}

const OF_PIPELINE = 'pipeline = @pipeline AND record_limit IS NOT DISTINCT FROM @limit::int8';
const longest = (age: string) => `coalesce(max((choice::json ->> '${age}')::float8), 0) AS "${age}"`;
const ages: Prepared<Pick<Choice, 'maxAge' | 'failedAge'>> = statement(`
  SELECT ${longest('maxAge')}, ${longest('failedAge')}
  FROM runs WHERE choice IS NOT NULL AND pruned_at IS NULL`);
const done: Prepared<RunRow> = statement(`
  SELECT * FROM runs WHERE pipeline = @pipeline AND service = @service AND source_sha256 = @sha256
    AND state IN ('done', 'withheld') ORDER BY nth DESC`);
// Publications are in order by their numbers. A withheld or confirmed run has none, so its end counts.
const latest: Prepared<RunRow> = statement(`
  WITH
    mine AS (
      SELECT (publication::jsonb ->> 'number')::int8 AS published_as, * FROM runs WHERE ${OF_PIPELINE}),
    published AS (
      SELECT finished_at, nth FROM mine WHERE state = 'done' AND published_as IS NOT NULL
      ORDER BY published_as DESC LIMIT 1)
  SELECT * FROM mine WHERE state <> 'superseded'
  ORDER BY
    CASE
      WHEN state IN ('open', 'publishing') THEN 0
      WHEN published_as IS NULL AND (finished_at, nth) > (SELECT finished_at, nth FROM published) THEN 1
      WHEN published_as IS NOT NULL THEN 2
      ELSE 3
    END,
    CASE state WHEN 'done' THEN coalesce(published_as, finished_at) WHEN 'withheld' THEN finished_at END
      DESC NULLS LAST,
    nth DESC
  LIMIT 1`);

const SEARCHES = 'SELECT state, count(*) AS count FROM searches WHERE run = @run GROUP BY state';

// One statement, because the tally is read often: one round trip, and one snapshot.
const tally: Prepared<TallyRows> = statement(`
  WITH merged AS (${MERGED})
  SELECT
    (SELECT coalesce(json_agg(by_state), '[]') FROM (${BY_STATE}) AS by_state) AS "byState",
    (SELECT row_to_json(merged) FROM merged) AS merged,
    (SELECT count(*) FROM chunks, merged
      WHERE run = @run AND round = 0 AND state <> 'split' AND last_record <= merged.last) AS "chunksMerged",
    (SELECT row_to_json(sent) FROM (${UPLOADS}) AS sent) AS uploads,
    (SELECT coalesce(json_agg(asked), '[]') FROM (${SEARCHES}) AS asked) AS searches`);

/** Makes `longestAges`, `latestRun`, `doneRuns` and `tally`. */
export function runReads(
  db: StateSession,
): Pick<CheckpointReader, 'longestAges' | 'latestRun' | 'doneRuns' | 'tally'> {
  return {
    longestAges: async () => (await db.read(ages, {}))[0]!,
    latestRun: async (pipeline, limit) =>
      toRunIfAny((await db.read(latest, { pipeline, limit: limit ?? null }))[0]),
    doneRuns: async (pipeline, service, sha256) =>
      (await db.read(done, { pipeline, service, sha256 })).map((row) => toRun(row)),
    tally: async (run) => toTally((await db.read(tally, { run }))[0]!),
  };
}
