/**
 * Runs may be withheld. A new column with the wider check takes the place of `state`: so the other columns, the order
 * of the rows, which is that of the runs, and the tables that refer to them stay as they are.
 */
export const withheldRuns = `
ALTER TABLE runs ADD COLUMN wider_state TEXT NOT NULL DEFAULT 'open'
  CHECK (wider_state IN ('open', 'publishing', 'done', 'withheld', 'superseded'));
UPDATE runs SET wider_state = state;
ALTER TABLE runs DROP COLUMN state;
ALTER TABLE runs RENAME COLUMN wider_state TO state;
ALTER TABLE runs ADD COLUMN withheld TEXT;  -- JSON
`;
