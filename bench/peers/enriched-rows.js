/** What an output row says about a result: shared by the peers that use csv-parse and csv-stringify. */

/** The columns after the source's own. */
export const ADDED = [
  'prediction_status',
  'prediction_error_code',
  'prediction_error',
  'prediction_naics_code',
  'prediction_naics_title',
  'prediction_confidence',
];

/** Adds a part's results to `results`, by record number: the key, three echoed columns, then the answer. */
export function collectResults(results, status, rows) {
  for (const [key, , , , ...answer] of rows) {
    const number = Number(key);
    if (results.has(number)) throw new Error(`two results for record ${number}`);
    const [code, title, confidence] = answer;
    results.set(
      number,
      status === 'SUCCESSFUL'
        ? [status, '', '', code, title, confidence]
        : [status, 'SERVICE_FAILED', answer[0], '', '', ''],
    );
  }
}

/** The record and its result as one row. */
export function enrichedRow(record, results, number) {
  const result = results.get(number);
  if (result === undefined) throw new Error(`no result for record ${number}`);
  return [...record, ...result];
}
