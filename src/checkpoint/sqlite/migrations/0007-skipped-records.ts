/** Stretches count the records that were not sent, because they are blank. */
export const skippedRecords = `
ALTER TABLE stretches ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
`;
