/** Records from a cursor of Postgres: those that have no code yet get one, in the same table. */
import { type Config, enrichedRecords, openRun, type RunOptions, type RunSummary } from 'foliopipe';
import type { Client } from 'pg';
import { z } from 'zod';

/** The columns that are taken from each row. */
const Row = z.object({
  id: z.string(),
  prediction_status: z.enum(['SUCCESSFUL', 'FAILED', 'UNPROCESSED']),
  prediction_naics_code: z.string(),
});

/** The rows of a query, some at a time, from a transaction that sees one moment of the database. */
async function* cursor(client: Client, query: string): AsyncGenerator<object> {
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
  try {
    await client.query(`DECLARE missing CURSOR FOR ${query}`);
    for (;;) {
      const { rows } = await client.query('FETCH 1000 FROM missing');
      if (rows.length === 0) return;
      yield* rows;
    }
  } finally {
    await client.query('COMMIT');
  }
}

/**
 * Fills in `businesses.code`.
 * @param config without a source: the records are those of the cursor, in its order.
 */
export async function fillCodes(config: Config, client: Client, options?: RunOptions): Promise<RunSummary> {
  const records = cursor(client, 'SELECT id, name, state FROM businesses WHERE code IS NULL ORDER BY id');
  // All records are copied and checked first. The cursor is closed before the first record is sent and paid for.
  await using run = await openRun(config, { ...options, records });
  await client.query('BEGIN');
  try {
    for await (const row of enrichedRecords(run, { schema: Row })) {
      if (row.prediction_status !== 'SUCCESSFUL') continue;
      await client.query('UPDATE businesses SET code = $2 WHERE id = $1', [
        row.id,
        row.prediction_naics_code,
      ]);
    }
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
  // After the commit: if a kill comes between, the next call gives the same rows again, and pays nothing.
  return run.confirm();
}
