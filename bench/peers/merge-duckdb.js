/**
 * Merging by DuckDB: the source, numbered, joined with the results and copied out in the source's order.
 * node bench/peers/merge-duckdb.js SOURCE PARTS_FOLDER OUTPUT [THREADS]
 */
import { csv, runDuckDb, text } from './duckdb.js';

const [source, folder, output, threads] = process.argv.slice(2);
const successful = csv(`${folder}/part-*-successful-*`);
const failed = csv(`${folder}/part-*-failed-*`);
await runDuckDb(
  `COPY (
    WITH source AS (SELECT row_number() OVER () AS number, * FROM ${csv(source)}),
    results AS (
      SELECT record_id::BIGINT AS number, 'SUCCESSFUL' AS status, NULL AS error_code, NULL AS error,
        naics_code, naics_title, confidence FROM ${successful}
      UNION ALL
      SELECT record_id::BIGINT, 'FAILED', 'SERVICE_FAILED', reason, NULL, NULL, NULL FROM ${failed}
    )
    SELECT source.* EXCLUDE (number), status AS prediction_status, error_code AS prediction_error_code,
      error AS prediction_error, naics_code AS prediction_naics_code, naics_title AS prediction_naics_title,
      confidence AS prediction_confidence
    FROM source LEFT JOIN results USING (number) ORDER BY source.number
  ) TO ${text(output)} (FORMAT csv, HEADER)`,
  { threads },
);
