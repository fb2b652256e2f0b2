/** Stretches take the place of merged chunks; runs keep what they have chosen to reuse; segments of bought answers. */
export const stretchesReuse = `
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
