/** Uploads in parts of an output that have begun at its store. */
export const outputUploads = `
CREATE TABLE output_uploads (
  name TEXT PRIMARY KEY,
  upload TEXT NOT NULL  -- what the store's client needs to go on with it
) WITHOUT ROWID;
`;
