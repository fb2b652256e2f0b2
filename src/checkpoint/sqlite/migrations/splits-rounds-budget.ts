/**
 * Chunks that were split or refused, rounds of failed records, searches, and what was spent. Uploads no longer refer to
 * rows of chunks: they stay in the ledger when a run's results are removed.
 */
export const splitsRoundsBudget = `
DROP INDEX chunks_by_state;
DROP INDEX chunks_merged;
DROP INDEX uploads_by_state;
ALTER TABLE parts RENAME TO old_parts;
ALTER TABLE uploads RENAME TO old_uploads;
ALTER TABLE chunks RENAME TO old_chunks;

ALTER TABLE runs ADD COLUMN canary INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN pruned_at INTEGER;

CREATE TABLE chunks (
  run           TEXT NOT NULL REFERENCES runs (id),
  number        INTEGER NOT NULL,
  round         INTEGER NOT NULL DEFAULT 0,
  first_record  INTEGER NOT NULL,
  last_record   INTEGER NOT NULL,
  records       INTEGER NOT NULL,
  start_file    INTEGER NOT NULL,
  start_offset  INTEGER NOT NULL,
  end_file      INTEGER NOT NULL,
  end_offset    INTEGER NOT NULL,
  bytes         INTEGER NOT NULL,
  sha256        TEXT NOT NULL,
  state         TEXT NOT NULL DEFAULT 'cut' CHECK (state IN ('cut', 'uploading', 'ambiguous', 'submitted',
    'finished', 'downloaded', 'unprocessed', 'refused', 'split')),
  attempt       INTEGER NOT NULL DEFAULT 0,
  folio         TEXT,
  submitted_at  INTEGER,
  successful    INTEGER,
  failed        INTEGER,
  cause         TEXT,
  refusal       TEXT,
  merged_end         INTEGER,
  merged_successful  INTEGER,
  merged_failed      INTEGER,
  merged_unprocessed INTEGER,
  merged_indistinct  INTEGER,
  merged_sha256      TEXT,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

INSERT INTO chunks (run, number, first_record, last_record, records, start_file, start_offset, end_file,
  end_offset, bytes, sha256, state, attempt, folio, submitted_at, successful, failed, cause, merged_end,
  merged_successful, merged_failed, merged_unprocessed, merged_indistinct)
SELECT run, number, first_record, last_record, records, start_file, start_offset, end_file,
  end_offset, bytes, sha256, state, attempt, folio, submitted_at, successful, failed, cause, merged_end,
  merged_successful, merged_failed, merged_unprocessed, merged_indistinct
FROM old_chunks;

CREATE INDEX chunks_by_state ON chunks (run, state, number, records);
CREATE INDEX chunks_in_order ON chunks (run, round, first_record, merged_end) WHERE state <> 'split';
CREATE INDEX chunks_merged ON chunks (run, first_record, last_record, records, merged_successful,
  merged_failed, merged_unprocessed, merged_indistinct, merged_end) WHERE merged_end IS NOT NULL;

CREATE TABLE uploads (
  run             TEXT NOT NULL REFERENCES runs (id),
  chunk           INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  file_name       TEXT NOT NULL,
  records         INTEGER NOT NULL,
  state           TEXT NOT NULL DEFAULT 'intent' CHECK (state IN
    ('intent', 'accepted', 'dropped', 'ambiguous')),
  folio           TEXT,
  service_records INTEGER,
  started_at      INTEGER NOT NULL,
  day             TEXT NOT NULL,           -- of the intent, in the budget's time zone: 2026-11-21
  ended_at        INTEGER,
  PRIMARY KEY (run, chunk, attempt)
) STRICT, WITHOUT ROWID;

INSERT INTO uploads (run, chunk, attempt, file_name, records, state, folio, service_records, started_at,
  day, ended_at)
SELECT run, chunk, attempt, file_name, records, state, folio, service_records, started_at,
  date(started_at / 1000, 'unixepoch'), ended_at
FROM old_uploads;

CREATE INDEX uploads_by_state ON uploads (run, state, chunk, attempt, records);

-- One row for each part that the service lists; size and hash are null until the part is on disk.
CREATE TABLE parts (
  run         TEXT NOT NULL,
  chunk       INTEGER NOT NULL,
  file_status TEXT NOT NULL CHECK (file_status IN ('SUCCESSFUL', 'FAILED')),
  part        INTEGER NOT NULL,
  bytes       INTEGER,
  sha256      TEXT,
  records     INTEGER,
  PRIMARY KEY (run, chunk, file_status, part),
  FOREIGN KEY (run, chunk) REFERENCES chunks (run, number)
) STRICT, WITHOUT ROWID;

INSERT INTO parts SELECT run, chunk, file_status, part, bytes, sha256, records FROM old_parts;

-- Which records a chunk of a round holds: their numbers, each as its distance from the one before, packed.
CREATE TABLE picked_records (
  run     TEXT NOT NULL,
  chunk   INTEGER NOT NULL,
  numbers BLOB NOT NULL,
  PRIMARY KEY (run, chunk),
  FOREIGN KEY (run, chunk) REFERENCES chunks (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE searches (
  run        TEXT NOT NULL REFERENCES runs (id),
  record     INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('intent', 'answered', 'dropped', 'ambiguous')),
  "values"   TEXT,                         -- JSON
  started_at INTEGER NOT NULL,
  day        TEXT NOT NULL,
  PRIMARY KEY (run, record)
) STRICT, WITHOUT ROWID;

CREATE INDEX searches_by_state ON searches (run, state);

-- Records paid for, ambiguous ones included: a few rows a run, so that a cap is compared at once.
CREATE TABLE spending (
  pipeline TEXT NOT NULL,
  day      TEXT NOT NULL,
  run      TEXT NOT NULL,
  records  INTEGER NOT NULL,
  PRIMARY KEY (pipeline, day, run)
) STRICT, WITHOUT ROWID;

CREATE INDEX spending_by_run ON spending (run, records);

INSERT INTO spending (pipeline, day, run, records)
SELECT runs.pipeline, uploads.day, uploads.run, sum(uploads.records)
FROM uploads JOIN runs ON runs.id = uploads.run
WHERE uploads.state <> 'dropped'
GROUP BY runs.pipeline, uploads.day, uploads.run;

DROP TABLE old_parts;
DROP TABLE old_uploads;
DROP TABLE old_chunks;
`;
