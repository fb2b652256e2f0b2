/** The partial publication of a run that was opened again after it. */
export const partialPublications = `
ALTER TABLE runs ADD COLUMN partial TEXT;  -- JSON; null once the run is published whole
`;
