/** The examples "Rows in, rows out" of docs/embedding.md, which shows this file word for word. */
import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import {
  type Config,
  enrichedBytes,
  enrichedRecords,
  openRun,
  type RunSummary,
  type SourceRecords,
} from '../../../pipelines/index.js';

const Row = z.object({
  Business: z.string(),
  prediction_status: z.enum(['SUCCESSFUL', 'FAILED', 'UNPROCESSED']),
  prediction_confidence: z.string().transform((text) => (text === '' ? null : Number(text))),
});

/** Enriches the businesses of a cursor, a queue or a list, and saves them in their order. */
export async function enrichInto(
  config: Config,
  businesses: SourceRecords,
  save: (row: z.output<typeof Row>) => Promise<void>,
): Promise<RunSummary> {
  await using run = await openRun(config, { records: businesses });
  for await (const row of enrichedRecords(run, { schema: Row })) await save(row);
  return run.confirm();
}

/** Enriches a CSV that arrives as a stream, such as a posted file, into another stream, such as the answer to it. */
export async function enrichThrough(config: Config, csv: Readable, target: Writable): Promise<RunSummary> {
  await using run = await openRun(config, { records: csv });
  await pipeline(Readable.from(enrichedBytes(run)), target);
  return run.confirm();
}
