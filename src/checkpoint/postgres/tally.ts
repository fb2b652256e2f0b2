/** The tally of a run. */
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CheckpointReader } from '../checkpoint.js';
import { type TallyRows, toTally } from '../rows/report-rows.js';
import type { StateSession } from './state-session.js';

const sum = (column: string, name: string) => `coalesce(sum(${column}), 0)::int8 AS "${name}"`;
const BY_STATE = `
  SELECT state, count(*) AS chunks, sum(records)::int8 AS records FROM chunks WHERE run = @run GROUP BY state`;
const MERGED = `
  SELECT ${sum('records', 'records')}, coalesce(max(last_record), 0) AS last,
    ${sum('successful', 'successful')}, ${sum('failed', 'failed')}, ${sum('unprocessed', 'unprocessed')},
    ${sum('indistinct', 'indistinct')}, ${sum('reused_successful', 'reusedSuccessful')},
    ${sum('reused_failed', 'reusedFailed')}, ${sum('duplicate_successful', 'duplicateSuccessful')},
    ${sum('duplicate_failed', 'duplicateFailed')}, ${sum('duplicate_unprocessed', 'duplicateUnprocessed')},
    ${sum('skipped', 'skipped')}
  FROM stretches WHERE run = @run`;
// An earlier attempt may be accepted late, when another process has sent the chunk again.
const UPLOADS = `
  SELECT
    (SELECT count(*) FROM uploads WHERE run = @run AND state = 'accepted') AS accepted,
    (SELECT coalesce(sum(attempts), 0)::int8 FROM doubt) AS ambiguous,
    (SELECT coalesce(sum(records), 0)::int8 FROM doubt) AS "ambiguousRecords",
    (SELECT count(*) FROM uploads AS later
      WHERE run = @run AND attempt > 1 AND state IN ('accepted', 'ambiguous') AND EXISTS (
        SELECT FROM uploads WHERE run = @run AND chunk = later.chunk AND attempt < later.attempt
          AND state IN ('accepted', 'ambiguous'))) AS resubmitted`;
const SEARCHES = 'SELECT state, count(*) AS count FROM searches WHERE run = @run GROUP BY state';

// One statement, because the tally is read often: one round trip, and one snapshot.
const tally: Prepared<TallyRows> = statement(`
  WITH
    doubt AS (
      SELECT chunk, count(*) AS attempts, sum(records) AS records
      FROM uploads WHERE run = @run AND state = 'ambiguous' GROUP BY chunk),
    merged AS (${MERGED})
  SELECT
    (SELECT coalesce(json_agg(by_state), '[]') FROM (${BY_STATE}) AS by_state) AS "byState",
    (SELECT row_to_json(merged) FROM merged) AS merged,
    (SELECT count(*) FROM chunks, merged
      WHERE run = @run AND round = 0 AND state <> 'split' AND last_record <= merged.last) AS "chunksMerged",
    (SELECT row_to_json(sent) FROM (${UPLOADS}) AS sent) AS uploads,
    (SELECT coalesce(json_agg(asked), '[]') FROM (${SEARCHES}) AS asked) AS searches`);

/** Makes `tally`. */
export function tallyReads(db: StateSession): Pick<CheckpointReader, 'tally'> {
  return { tally: async (run) => toTally((await db.read(tally, { run }))[0]!) };
}
