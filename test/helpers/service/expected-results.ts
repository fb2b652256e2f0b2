/** An upload for the local service, and the result files that the service must return for it. */
import { createHashPredictor } from '../../../src/service/predictors/hash-predictor.js';
import { isPrediction } from '../../../src/service/predictors/predictor.js';

const NAMES = ['Baker', 'Café Größe', '"Bob ""B"" Bell, Inc"', '"Two\nLines LLC"', ' Spaced '];

/** A CSV with quotes, commas, line breaks within fields and more than ASCII; every record differs. */
export function uploadCsv(records: number): string {
  const lines = ['record_id,Name,Address'];
  for (let id = 1; id <= records; id++) {
    const name = NAMES[id % NAMES.length]!;
    const numbered = name.endsWith('"') ? `${name.slice(0, -1)} ${id}"` : `${name} ${id}`;
    lines.push(`${id},${numbered},"${id} Main St, Suite ""A"""`);
  }
  return `${lines.join('\n')}\n`;
}

export interface ExpectedResults {
  /** Records of the successful parts, one after the other, without headers. */
  readonly successful: string[];
  readonly failed: string[];
}

/** The results of the hash predictor for `uploadCsv`. */
export function expectedResults(records: number): ExpectedResults {
  const predictor = createHashPredictor();
  const results: ExpectedResults = { successful: [], failed: [] };
  const [, ...rows] = uploadCsv(records).split(/\n(?=\d+,|$)/);
  for (const row of rows.slice(0, records)) {
    const raw = row.slice(row.indexOf(',') + 1, row.lastIndexOf(',"'));
    const name = raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw;
    const outcome = predictor.predict(name, '', '');
    if (isPrediction(outcome)) {
      const title = outcome.title.includes(',') ? `"${outcome.title}"` : outcome.title;
      results.successful.push(`${row},${outcome.code},${title},${outcome.confidence.toFixed(2)}\n`);
    } else {
      results.failed.push(`${row},${outcome.reason}\n`);
    }
  }
  return results;
}

export const SUCCESSFUL_HEADER = 'record_id,Name,Address,naics_code,naics_title,confidence\n';
export const FAILED_HEADER = 'record_id,Name,Address,reason\n';
