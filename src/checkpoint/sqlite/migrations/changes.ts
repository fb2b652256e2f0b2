/** Migrations that change a few tables each, in order. */

/** Why an upload is ambiguous, what kind of service answered it, and a row for each time an output is put in place. */
const receiptsPublications = `
-- 'no-reply': cut, timed out or a server error; 'redirected': a 3xx; 'unreadable': a 2xx without a readable folio.
ALTER TABLE uploads ADD COLUMN doubt TEXT CHECK (doubt IN ('no-reply', 'redirected', 'unreadable'));
-- 1: the reply said that it comes from a local service; 0: it did not; null: there was no reply.
ALTER TABLE uploads ADD COLUMN local INTEGER CHECK (local IN (0, 1));

UPDATE uploads SET doubt = 'no-reply' WHERE state = 'ambiguous';
UPDATE uploads SET local = (SELECT rehearsal FROM runs WHERE runs.id = uploads.run) WHERE state = 'accepted';

-- 1: some reply says that it comes from a local service, where the upload's did not, or the other way round.
ALTER TABLE runs ADD COLUMN mixed INTEGER NOT NULL DEFAULT 0;
DROP INDEX uploads_by_state;
CREATE INDEX uploads_by_state ON uploads (run, state, local, chunk, attempt, records);

CREATE TABLE publications (
  pipeline TEXT NOT NULL,
  number   INTEGER NOT NULL,               -- increases within the pipeline, from 1
  run      TEXT NOT NULL REFERENCES runs (id),
  path     TEXT NOT NULL,
  bytes    INTEGER NOT NULL,
  sha256   TEXT NOT NULL,
  stamp    TEXT,                           -- of the file as it was put in place; null where that is not known
  PRIMARY KEY (pipeline, number)
) STRICT, WITHOUT ROWID;

INSERT INTO publications (pipeline, number, run, path, bytes, sha256)
SELECT pipeline, row_number() OVER (PARTITION BY pipeline ORDER BY state = 'publishing', finished_at, rowid), id,
  publication ->> '$.output.path', publication ->> 'bytes', publication ->> 'sha256'
FROM runs WHERE publication IS NOT NULL;

UPDATE runs SET publication = json_set(publication,
  '$.number', (SELECT number FROM publications WHERE run = runs.id),
  '$.resultColumns', json(coalesce(columns, '[]')))
WHERE publication IS NOT NULL;
`;

/** Stretches take the place of merged chunks; runs keep what they have chosen to reuse; segments of bought answers. */
const stretchesReuse = `
ALTER TABLE runs ADD COLUMN choice TEXT;    -- JSON

CREATE TABLE segments (
  id      TEXT PRIMARY KEY,
  run     TEXT NOT NULL,                    -- or the import
  newest  INTEGER NOT NULL,                 -- time of its newest answer
  segment TEXT NOT NULL                     -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE stretches (
  run          TEXT NOT NULL REFERENCES runs (id),
  first_record INTEGER NOT NULL,
  last_record  INTEGER NOT NULL,
  records      INTEGER NOT NULL,
  end_file     INTEGER NOT NULL,
  end_offset   INTEGER NOT NULL,
  work_end     INTEGER NOT NULL,
  sha256       TEXT,
  successful   INTEGER NOT NULL,
  failed       INTEGER NOT NULL,
  unprocessed  INTEGER NOT NULL,
  indistinct   INTEGER NOT NULL,
  reused_successful     INTEGER NOT NULL DEFAULT 0,
  reused_failed         INTEGER NOT NULL DEFAULT 0,
  duplicate_successful  INTEGER NOT NULL DEFAULT 0,
  duplicate_failed      INTEGER NOT NULL DEFAULT 0,
  duplicate_unprocessed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (run, first_record)
) STRICT, WITHOUT ROWID;

INSERT INTO stretches (run, first_record, last_record, records, end_file, end_offset, work_end, sha256,
  successful, failed, unprocessed, indistinct)
SELECT run, first_record, last_record, records, end_file, end_offset, merged_end, merged_sha256,
  merged_successful, merged_failed, merged_unprocessed, coalesce(merged_indistinct, 0)
FROM chunks WHERE merged_end IS NOT NULL;

DROP INDEX chunks_merged;
DROP INDEX chunks_in_order;
ALTER TABLE chunks DROP COLUMN merged_end;
ALTER TABLE chunks DROP COLUMN merged_successful;
ALTER TABLE chunks DROP COLUMN merged_failed;
ALTER TABLE chunks DROP COLUMN merged_unprocessed;
ALTER TABLE chunks DROP COLUMN merged_indistinct;
ALTER TABLE chunks DROP COLUMN merged_sha256;
CREATE INDEX chunks_in_order ON chunks (run, round, first_record, last_record) WHERE state <> 'split';
`;

/** Paid searches that belong to no run. What they cost is in `spending`, with an empty run. */
const singleSearches = `
CREATE TABLE single_searches (
  id         TEXT PRIMARY KEY,              -- sorts by time: 20261121T031002417-4f9c1a
  pipeline   TEXT NOT NULL,
  service    TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('intent', 'answered', 'dropped', 'ambiguous')),
  local      INTEGER CHECK (local IN (0, 1)), -- 1: the reply came from a local service; null: there was no reply
  started_at INTEGER NOT NULL,
  day        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * Runs may be withheld. A new column with the wider check takes the place of `state`: so the other columns, the order
 * of the rows (that of the runs) and the tables that refer to them stay as they are.
 */
export const withheldRuns = `
ALTER TABLE runs ADD COLUMN wider_state TEXT NOT NULL DEFAULT 'open'
  CHECK (wider_state IN ('open', 'publishing', 'done', 'withheld', 'superseded'));
UPDATE runs SET wider_state = state;
ALTER TABLE runs DROP COLUMN state;
ALTER TABLE runs RENAME COLUMN wider_state TO state;
ALTER TABLE runs ADD COLUMN withheld TEXT;  -- JSON
`;

/** Stretches count the records that were not sent, because they are blank. */
const skippedRecords = `
ALTER TABLE stretches ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
`;

/** How the last load of a run's publication has ended. */
const loads = `
CREATE TABLE loads (
  run TEXT PRIMARY KEY REFERENCES runs (id),
  load TEXT NOT NULL  -- JSON
);
`;

/** Uploads in parts of an output that have begun at its store. */
const outputUploads = `
CREATE TABLE output_uploads (
  name TEXT PRIMARY KEY,
  upload TEXT NOT NULL  -- what the store's client needs to go on with it
) WITHOUT ROWID;
`;

/** How a run without a publication has ended, whose rows went to a sink of the embedding program. */
const confirmedRuns = `
ALTER TABLE runs ADD COLUMN confirmed TEXT;  -- JSON
`;

/**
 * Runs of only the first records of a source are samples: they are found by their limit, which is NULL in other runs.
 */
const samples = `
ALTER TABLE runs ADD COLUMN record_limit INTEGER AS (source ->> 'limit');
`;

/** When chunks passed their steps, why rows of a stretch have no prediction, and the facts of a whole output. */
const history = `
ALTER TABLE chunks ADD COLUMN cut_at INTEGER;
ALTER TABLE chunks ADD COLUMN finished_at INTEGER;
ALTER TABLE chunks ADD COLUMN downloaded_at INTEGER;
ALTER TABLE stretches ADD COLUMN merged_at INTEGER;
ALTER TABLE stretches ADD COLUMN reasons TEXT;    -- JSON; null if all rows have a prediction
ALTER TABLE publications ADD COLUMN night TEXT;   -- JSON; null if it is partial or not in place
`;

/** The partial publication of a run that was opened again after it. */
const partialPublications = `
ALTER TABLE runs ADD COLUMN partial TEXT;  -- JSON; null once the run is published whole
`;

export const changes: readonly string[] = [
  receiptsPublications,
  stretchesReuse,
  singleSearches,
  withheldRuns,
  skippedRecords,
  loads,
  outputUploads,
  confirmedRuns,
  samples,
  history,
  partialPublications,
];
