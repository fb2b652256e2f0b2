/** The numbered steps that make the service's database; only ever added to. */

/** Step n brings `user_version` from n to n + 1. */
export const MIGRATIONS: readonly string[] = [
  `CREATE TABLE folios (
    id INTEGER PRIMARY KEY,
    folio TEXT NOT NULL UNIQUE,
    file_name TEXT NOT NULL,
    description TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    header BLOB NOT NULL,
    records INTEGER NOT NULL,
    segment_records INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('PROCESSING', 'FINISHED')),
    "offset" INTEGER NOT NULL,
    successful INTEGER NOT NULL,
    failed INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX folios_processing ON folios (id) WHERE status = 'PROCESSING';
  CREATE TABLE slices (
    folio_id INTEGER NOT NULL REFERENCES folios (id),
    file_status TEXT NOT NULL CHECK (file_status IN ('SUCCESSFUL', 'FAILED')),
    part INTEGER NOT NULL,
    processed INTEGER NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (folio_id, file_status, part, processed)
  ) STRICT;`,
  'ALTER TABLE folios ADD COLUMN finished_at INTEGER;',
  `ALTER TABLE folios ADD COLUMN fail_share REAL NOT NULL DEFAULT 0;
  ALTER TABLE folios ADD COLUMN fail_seed INTEGER NOT NULL DEFAULT 0;`,
];
