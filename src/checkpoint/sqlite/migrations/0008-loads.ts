/** How the last load of a run's publication has ended. */
export const loads = `
CREATE TABLE loads (
  run TEXT PRIMARY KEY REFERENCES runs (id),
  load TEXT NOT NULL  -- JSON
);
`;
