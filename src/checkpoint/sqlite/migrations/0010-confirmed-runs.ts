/** How a run without a publication has ended, whose rows went to a sink of the embedding program. */
export const confirmedRuns = `
ALTER TABLE runs ADD COLUMN confirmed TEXT;  -- JSON
`;
