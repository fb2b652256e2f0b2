/** When chunks passed their steps, why rows of a stretch have no prediction, and the facts of a whole output. */
export const history = `
ALTER TABLE chunks ADD COLUMN cut_at INTEGER;
ALTER TABLE chunks ADD COLUMN finished_at INTEGER;
ALTER TABLE chunks ADD COLUMN downloaded_at INTEGER;
ALTER TABLE stretches ADD COLUMN merged_at INTEGER;
ALTER TABLE stretches ADD COLUMN reasons TEXT;    -- JSON; null if all rows have a prediction
ALTER TABLE publications ADD COLUMN night TEXT;   -- JSON; null if it is partial or not in place
`;
