/**
 * The tables that all migrations together make, in SQLite's own words: a new file gets them at once. A test writes this
 * file: `npx vitest run test/checkpoint/sqlite/tables.test.ts -u`.
 */
export const tables = `
CREATE TABLE runs (
  id          TEXT PRIMARY KEY,
  pipeline    TEXT NOT NULL,
  service     TEXT NOT NULL,
  label       TEXT,
  source      TEXT NOT NULL,               -- JSON
  frozen      TEXT NOT NULL,               -- JSON
  created_at  INTEGER NOT NULL,
  chunks      INTEGER,
  columns     TEXT,                        -- JSON
  join_way    TEXT,                        -- JSON
  rehearsal   INTEGER NOT NULL DEFAULT 0,
  publication TEXT,                        -- JSON
  finished_at INTEGER
, canary INTEGER NOT NULL DEFAULT 0, round INTEGER NOT NULL DEFAULT 0, pruned_at INTEGER, mixed INTEGER NOT NULL DEFAULT 0, choice TEXT, state TEXT NOT NULL DEFAULT 'open'
  CHECK (state IN ('open', 'publishing', 'done', 'withheld', 'superseded')), withheld TEXT, confirmed TEXT, record_limit INTEGER AS (source ->> 'limit'), partial TEXT) STRICT;
CREATE TABLE pipeline_columns (
  pipeline TEXT NOT NULL,
  service  TEXT NOT NULL,
  columns  TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (pipeline, service)
) STRICT, WITHOUT ROWID;
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
  refusal       TEXT, cut_at INTEGER, finished_at INTEGER, downloaded_at INTEGER,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunks_by_state ON chunks (run, state, number, records);
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
  ended_at        INTEGER, doubt TEXT CHECK (doubt IN ('no-reply', 'redirected', 'unreadable')), local INTEGER CHECK (local IN (0, 1)),
  PRIMARY KEY (run, chunk, attempt)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE spending (
  pipeline TEXT NOT NULL,
  day      TEXT NOT NULL,
  run      TEXT NOT NULL,
  records  INTEGER NOT NULL,
  PRIMARY KEY (pipeline, day, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX spending_by_run ON spending (run, records);
CREATE INDEX uploads_by_state ON uploads (run, state, local, chunk, attempt, records);
CREATE TABLE publications (
  pipeline TEXT NOT NULL,
  number   INTEGER NOT NULL,               -- increases within the pipeline, from 1
  run      TEXT NOT NULL REFERENCES runs (id),
  path     TEXT NOT NULL,
  bytes    INTEGER NOT NULL,
  sha256   TEXT NOT NULL,
  stamp    TEXT, night TEXT,                           -- of the file as it was put in place; null where that is not known
  PRIMARY KEY (pipeline, number)
) STRICT, WITHOUT ROWID;
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
  duplicate_unprocessed INTEGER NOT NULL DEFAULT 0, skipped INTEGER NOT NULL DEFAULT 0, merged_at INTEGER, reasons TEXT,
  PRIMARY KEY (run, first_record)
) STRICT, WITHOUT ROWID;
CREATE INDEX chunks_in_order ON chunks (run, round, first_record, last_record) WHERE state <> 'split';
CREATE TABLE single_searches (
  id         TEXT PRIMARY KEY,              -- sorts by time: 20261121T031002417-4f9c1a
  pipeline   TEXT NOT NULL,
  service    TEXT NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('intent', 'answered', 'dropped', 'ambiguous')),
  local      INTEGER CHECK (local IN (0, 1)), -- 1: the reply came from a local service; null: there was no reply
  started_at INTEGER NOT NULL,
  day        TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE loads (
  run TEXT PRIMARY KEY REFERENCES runs (id),
  load TEXT NOT NULL  -- JSON
);
CREATE TABLE output_uploads (
  name TEXT PRIMARY KEY,
  upload TEXT NOT NULL  -- what the store's client needs to go on with it
) WITHOUT ROWID;
`;
