/** Runs, chunks, upload attempts, parts, learned columns. Rows are small; no table has a row for each record. */

export const initialTables = `
CREATE TABLE runs (
  id          TEXT PRIMARY KEY,
  pipeline    TEXT NOT NULL,
  service     TEXT NOT NULL,
  label       TEXT,
  source      TEXT NOT NULL,               -- JSON
  frozen      TEXT NOT NULL,               -- JSON
  created_at  INTEGER NOT NULL,
  state       TEXT NOT NULL CHECK (state IN ('open', 'publishing', 'done', 'superseded')),
  chunks      INTEGER,
  columns     TEXT,                        -- JSON
  join_way    TEXT,                        -- JSON
  rehearsal   INTEGER NOT NULL DEFAULT 0,
  publication TEXT,                        -- JSON
  finished_at INTEGER
) STRICT;

CREATE TABLE chunks (
  run           TEXT NOT NULL REFERENCES runs (id),
  number        INTEGER NOT NULL,
  first_record  INTEGER NOT NULL,
  last_record   INTEGER NOT NULL,
  records       INTEGER NOT NULL,
  start_file    INTEGER NOT NULL,
  start_offset  INTEGER NOT NULL,
  end_file      INTEGER NOT NULL,
  end_offset    INTEGER NOT NULL,
  bytes         INTEGER NOT NULL,
  sha256        TEXT NOT NULL,
  state         TEXT NOT NULL DEFAULT 'cut' CHECK (state IN
    ('cut', 'uploading', 'ambiguous', 'submitted', 'finished', 'downloaded', 'unprocessed')),
  attempt       INTEGER NOT NULL DEFAULT 0,
  folio         TEXT,
  submitted_at  INTEGER,
  successful    INTEGER,
  failed        INTEGER,
  cause         TEXT,
  merged_end         INTEGER,
  merged_successful  INTEGER,
  merged_failed      INTEGER,
  merged_unprocessed INTEGER,
  merged_indistinct  INTEGER,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX chunks_by_state ON chunks (run, state, number, records);
CREATE INDEX chunks_merged ON chunks
  (run, number, records, merged_successful, merged_failed, merged_unprocessed, merged_indistinct, merged_end)
  WHERE merged_end IS NOT NULL;

CREATE TABLE uploads (
  run             TEXT NOT NULL,
  chunk           INTEGER NOT NULL,
  attempt         INTEGER NOT NULL,
  file_name       TEXT NOT NULL,
  records         INTEGER NOT NULL,
  state           TEXT NOT NULL DEFAULT 'intent' CHECK (state IN
    ('intent', 'accepted', 'dropped', 'ambiguous')),
  folio           TEXT,
  service_records INTEGER,
  started_at      INTEGER NOT NULL,
  ended_at        INTEGER,
  PRIMARY KEY (run, chunk, attempt),
  FOREIGN KEY (run, chunk) REFERENCES chunks (run, number)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE pipeline_columns (
  pipeline TEXT NOT NULL,
  service  TEXT NOT NULL,
  columns  TEXT NOT NULL,                  -- JSON
  PRIMARY KEY (pipeline, service)
) STRICT, WITHOUT ROWID;
`;
