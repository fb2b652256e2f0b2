/**
 * Runs of the first records of a source alone are samples: they are looked for by their limit, which is NULL
 * in other runs.
 */
export const samples = `
ALTER TABLE runs ADD COLUMN record_limit INTEGER AS (source ->> 'limit');
`;
