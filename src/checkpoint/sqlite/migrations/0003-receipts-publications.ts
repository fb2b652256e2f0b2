/** Why an upload is ambiguous, what kind of service answered it, and a row for each time an output is put in place. */
export const receiptsPublications = `
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
