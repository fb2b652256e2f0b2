/** Paid searches that belong to no run. What they cost is in `spending`, with an empty run. */
export const singleSearches = `
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
