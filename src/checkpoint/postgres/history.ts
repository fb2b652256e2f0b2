/** Reads for reports on a run, on the nights before it, and the tally of a run. */
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Answered, CheckpointReader } from '../checkpoint.js';
import {
  type StoredNight,
  type StoredTimes,
  type TallyRows,
  toNight,
  toTally,
  toTimes,
} from '../rows/report-rows.js';
import type { StateSession } from './state-session.js';

const nights: Prepared<StoredNight> = statement(`
  SELECT number AS publication, run, night FROM publications
  WHERE pipeline = @pipeline AND number <= @upTo AND night IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM runs WHERE id = run AND record_limit IS NOT NULL)
  ORDER BY number DESC LIMIT @limit`);
const nightOf: Prepared<StoredNight> = statement(`
  SELECT number AS publication, run, night FROM publications
  WHERE run = @run AND night IS NOT NULL ORDER BY number DESC LIMIT 1`);
// A dropped attempt was not accepted: it is a part of the wait.
const times: Prepared<StoredTimes> = statement(`
  SELECT number, round, records, state, attempt, folio, successful, failed, cause, cut_at AS "cutAt",
    (SELECT max(started_at) FROM uploads
      WHERE uploads.run = chunks.run AND chunk = number AND uploads.state <> 'dropped') AS "uploadAt",
    submitted_at AS "submittedAt", finished_at AS "finishedAt", downloaded_at AS "downloadedAt",
    CASE WHEN round = 0 THEN
      (SELECT CASE WHEN merged.last_record >= chunks.last_record THEN merged_at END
        FROM stretches AS merged WHERE merged.run = chunks.run AND merged.first_record <= chunks.last_record
        ORDER BY merged.first_record DESC LIMIT 1) END AS "mergedAt"
  FROM chunks WHERE run = @run AND number > @after AND state <> 'split' ORDER BY number LIMIT @limit`);

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

// A record of a round has failed before, and was counted then. It counts once, with its last answer.
const answered: Prepared<Answered> = statement(`
  SELECT coalesce(sum(CASE WHEN round = 0 THEN records END), 0)::int8 AS records,
    coalesce(sum(failed - CASE WHEN round = 0 THEN 0 ELSE records END), 0)::int8 AS failed
  FROM chunks WHERE run = @run AND state IN ('downloaded', 'refused')`);

type HistoryRead = 'nights' | 'nightOf' | 'chunkTimes' | 'tally' | 'answered';

/** Makes the reads for reports and the tally. */
export function historyReads(db: StateSession): Pick<CheckpointReader, HistoryRead> {
  return {
    nights: async (pipeline, limit, upTo = Number.MAX_SAFE_INTEGER) =>
      (await db.read(nights, { pipeline, limit, upTo })).map(toNight),
    nightOf: async (run) => {
      const [row] = await db.read(nightOf, { run });
      return row && toNight(row);
    },
    answered: async (run) => (await db.read(answered, { run }))[0]!,
    chunkTimes: async (run, after, limit) => (await db.read(times, { run, after, limit })).map(toTimes),
    tally: async (run) => toTally((await db.read(tally, { run }))[0]!),
  };
}
