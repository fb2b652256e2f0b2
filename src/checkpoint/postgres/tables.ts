/**
 * The migrations of the tables, oldest first; the version of a database is their number. Rows are small, and no table
 * has a row for each record of the source. JSON is kept as text. No table refers to another: each insertion takes its
 * run from the tables.
 */
import { accountSlots, accountTables } from './account/tables.js';

const initialTables = `
CREATE TABLE leases (
  pipeline text PRIMARY KEY,
  fence    bigint NOT NULL,                 -- increases with each holder
  until    timestamptz NOT NULL,            -- of the server's clock
  holder   text                             -- JSON; the last one, if it is free
);

CREATE TABLE runs (
  id            text PRIMARY KEY,
  nth           bigint GENERATED ALWAYS AS IDENTITY,  -- the order of the runs
  pipeline      text NOT NULL,
  service       text NOT NULL,
  label         text,
  source        text NOT NULL,
  source_sha256 text NOT NULL,
  record_limit  bigint,
  frozen        text NOT NULL,
  canary        bigint NOT NULL,
  choice        text,
  created_at    bigint NOT NULL,
  state         text NOT NULL CHECK (state IN ('open', 'publishing', 'done', 'withheld', 'superseded')),
  chunks        bigint,
  columns       text,
  join_way      text,
  round         bigint NOT NULL DEFAULT 0,
  rehearsal     smallint NOT NULL DEFAULT 0,
  mixed         smallint NOT NULL DEFAULT 0,
  publication   text,
  partial       text,                       -- null once the run is published whole
  withheld      text,
  confirmed     text,
  finished_at   bigint,
  pruned_at     bigint
);
CREATE INDEX runs_of_pipeline ON runs (pipeline, nth);

CREATE TABLE chunks (
  run           text NOT NULL,
  number        bigint NOT NULL,
  round         bigint NOT NULL DEFAULT 0,
  first_record  bigint NOT NULL,
  last_record   bigint NOT NULL,
  records       bigint NOT NULL,
  start_file    bigint NOT NULL,
  start_offset  bigint NOT NULL,
  end_file      bigint NOT NULL,
  end_offset    bigint NOT NULL,
  bytes         bigint NOT NULL,
  sha256        text NOT NULL,
  state         text NOT NULL DEFAULT 'cut' CHECK (state IN ('cut', 'uploading', 'ambiguous', 'submitted',
    'finished', 'downloaded', 'unprocessed', 'refused', 'split')),
  attempt       bigint NOT NULL DEFAULT 0,
  folio         text,
  cut_at        bigint,
  submitted_at  bigint,
  finished_at   bigint,
  downloaded_at bigint,
  successful    bigint,
  failed        bigint,
  cause         text,
  refusal       text,
  PRIMARY KEY (run, number)
) WITH (fillfactor = 70);
CREATE INDEX chunks_by_state ON chunks (run, state, number);
CREATE INDEX chunks_in_order ON chunks (run, round, first_record, last_record) WHERE state <> 'split';

CREATE TABLE picked_records (
  run     text NOT NULL,
  chunk   bigint NOT NULL,
  numbers bytea NOT NULL,
  PRIMARY KEY (run, chunk)
);

CREATE TABLE uploads (
  run             text NOT NULL,
  chunk           bigint NOT NULL,
  attempt         bigint NOT NULL,
  file_name       text NOT NULL,
  records         bigint NOT NULL,
  state           text NOT NULL DEFAULT 'intent' CHECK (state IN
    ('intent', 'accepted', 'dropped', 'ambiguous')),
  doubt           text CHECK (doubt IN ('no-reply', 'redirected', 'unreadable')),
  folio           text,
  local           smallint,                 -- 1: the reply came from a local service; null: there was no reply
  service_records bigint,
  started_at      bigint NOT NULL,
  day             text NOT NULL,            -- of the intent, in the budget's time zone: 2026-11-21
  ended_at        bigint,
  PRIMARY KEY (run, chunk, attempt)
) WITH (fillfactor = 70);
CREATE INDEX uploads_by_state ON uploads (run, state, chunk);

-- One row for each part that the service lists; size and hash are null until the part is stored.
CREATE TABLE parts (
  run         text NOT NULL,
  chunk       bigint NOT NULL,
  file_status text NOT NULL CHECK (file_status IN ('SUCCESSFUL', 'FAILED')),
  part        bigint NOT NULL,
  bytes       bigint,
  sha256      text,
  records     bigint,
  PRIMARY KEY (run, chunk, file_status, part)
) WITH (fillfactor = 70);

CREATE TABLE stretches (
  run          text NOT NULL,
  first_record bigint NOT NULL,
  last_record  bigint NOT NULL,
  records      bigint NOT NULL,
  end_file     bigint NOT NULL,
  end_offset   bigint NOT NULL,
  work_end     bigint NOT NULL,
  sha256       text,
  successful   bigint NOT NULL,
  failed       bigint NOT NULL,
  unprocessed  bigint NOT NULL,
  indistinct   bigint NOT NULL,
  reused_successful     bigint NOT NULL,
  reused_failed         bigint NOT NULL,
  duplicate_successful  bigint NOT NULL,
  duplicate_failed      bigint NOT NULL,
  duplicate_unprocessed bigint NOT NULL,
  skipped      bigint NOT NULL,
  reasons      text,                        -- null if all rows have a prediction
  merged_at    bigint,
  PRIMARY KEY (run, first_record)
);

CREATE TABLE pipeline_columns (
  pipeline text NOT NULL,
  service  text NOT NULL,
  columns  text NOT NULL,
  PRIMARY KEY (pipeline, service)
);

CREATE TABLE searches (
  run        text NOT NULL,
  record     bigint NOT NULL,
  state      text NOT NULL CHECK (state IN ('intent', 'answered', 'dropped', 'ambiguous')),
  "values"   text,
  started_at bigint NOT NULL,
  day        text NOT NULL,
  PRIMARY KEY (run, record)
);

CREATE TABLE single_searches (
  id         text COLLATE "C" PRIMARY KEY,  -- sorts by time: 20261121T031002417-4f9c1a
  pipeline   text NOT NULL,
  service    text NOT NULL,
  state      text NOT NULL CHECK (state IN ('intent', 'answered', 'dropped', 'ambiguous')),
  local      smallint,
  started_at bigint NOT NULL,
  day        text NOT NULL
);

-- Records paid for, ambiguous ones included: a few rows a run, so that a cap is compared at once.
CREATE TABLE spending (
  pipeline text NOT NULL,
  day      text COLLATE "C" NOT NULL,
  run      text NOT NULL,                   -- empty for what belongs to no run
  records  bigint NOT NULL,
  PRIMARY KEY (pipeline, day, run)
) WITH (fillfactor = 50);
CREATE INDEX spending_by_run ON spending (run);

CREATE TABLE publications (
  pipeline text NOT NULL,
  number   bigint NOT NULL,                 -- increases within the pipeline, from 1
  run      text NOT NULL,
  path     text NOT NULL,
  bytes    bigint NOT NULL,
  sha256   text NOT NULL,
  stamp    text,                            -- of the file as it was put in place; null where that is not known
  night    text,                            -- null if it is partial or not in place
  PRIMARY KEY (pipeline, number)
);
CREATE INDEX publications_of_run ON publications (run, number);

CREATE TABLE loads (
  run  text PRIMARY KEY,
  load text NOT NULL
);

CREATE TABLE output_uploads (
  name   text PRIMARY KEY,
  upload text NOT NULL                      -- what the store's client needs to go on with it
);

-- The bytes of parts, compressed, in pieces. A part is named when its last piece is stored.
CREATE TABLE part_files (
  run         text NOT NULL,
  chunk       bigint NOT NULL,
  file_status text NOT NULL,
  part        bigint NOT NULL,
  sha256      text NOT NULL,
  file        text NOT NULL,
  bytes       bigint NOT NULL,              -- of all pieces
  PRIMARY KEY (run, chunk, file_status, part, sha256)
);

CREATE TABLE part_pieces (
  run   text NOT NULL,
  file  text NOT NULL,
  piece bigint NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (run, file, piece)
);
ALTER TABLE part_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE segments (
  id      text COLLATE "C" PRIMARY KEY,
  run     text NOT NULL,                    -- or the import
  newest  bigint NOT NULL,
  segment text NOT NULL
);
`;

/** Other files than parts that every machine sees, and the mark of a state that was copied. */
const sharedFiles = `
CREATE TABLE shared_files (
  name       text COLLATE "C" PRIMARY KEY,  -- as in the folder of a state: reuse/segments/R1-1.seg
  file       text NOT NULL,                 -- the id of its content
  folder     text,                          -- with the content; null if it is in shared_pieces
  bytes      bigint NOT NULL,
  sha256     text NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX shared_files_by_file ON shared_files (file);

CREATE TABLE shared_pieces (
  file       text NOT NULL,
  piece      bigint NOT NULL,
  bytes      bytea NOT NULL,
  written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (file, piece)
);
ALTER TABLE shared_pieces ALTER COLUMN bytes SET STORAGE EXTERNAL;

CREATE TABLE copy_marks (
  one  boolean PRIMARY KEY CHECK (one),     -- at most one row
  mark text NOT NULL                        -- JSON
);
`;

/** The workers of a fleet: workers.ts. */
const workers = `
CREATE TABLE workers (
  id    text PRIMARY KEY,
  facts text NOT NULL,                      -- JSON
  since timestamptz NOT NULL,               -- of the server's clock, as all times here
  seen  timestamptz NOT NULL
);
`;

export const migrations: readonly string[] = [
  initialTables,
  sharedFiles,
  workers,
  accountTables,
  accountSlots,
];
