/** Jobs whose failed records may succeed when they are sent again, and what is expected of their records. */
import { readFile } from 'node:fs/promises';
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import { type Checkpoint, openCheckpointReader, publish } from '../../../pipelines/index.js';
import { fineNames, type LocalJob, type LocalJobSetup, predictedCode } from './local-job.js';

/** A rule: this share of the records fails in the first `uploads` uploads. */
export function failing(share: string, uploads: number): object {
  return { on: 'upload', calls: { to: uploads }, fault: { fail: share } };
}

/** 30 records in three chunks, sent one after the other so that the same records fail each time. */
export function failingSetup(
  rules: readonly object[],
  config: Readonly<Record<string, object>> = {},
): LocalJobSetup {
  return {
    names: fineNames(30),
    rules,
    config: { concurrency: { uploads: 1, folios: 1, downloads: 1 }, ...config },
  };
}

/** Expects every record in the order of the source, with the prediction of the service or FAILED. */
export async function expectPredicted(job: LocalJob, failed: readonly number[] = []): Promise<void> {
  const rows = await job.rows();
  expect(rows).toHaveLength(30);
  for (const [at, row] of rows.entries()) {
    const isFailed = failed.includes(at + 1);
    expect(row, `record ${at + 1}`).toMatchObject({
      Name: fineNames(30)[at],
      prediction_status: isFailed ? 'FAILED' : 'SUCCESSFUL',
      prediction_error_code: isFailed ? 'SERVICE_FAILED' : '',
      prediction_naics_code: isFailed ? '' : predictedCode(row.Name!),
    });
  }
}

/** Expects that the run, published again from what was bought, gives the same bytes. */
export async function expectSameWhenPublished(job: LocalJob): Promise<void> {
  const before = await readFile(job.output);
  const { run } = await job.kept();
  await publish(job.config(), run.id);
  expect((await readFile(job.output)).equals(before)).toBe(true);
}

/** The numbers of the FAILED records in an output. */
export function failedIn(output: string | Buffer): number[] {
  const rows = parse(output, { columns: true }) as Record<string, string>[];
  return rows.flatMap(({ prediction_status }, at) => (prediction_status === 'FAILED' ? [at + 1] : []));
}

type Reader = Pick<Checkpoint, 'nextChunk' | 'pickedRecords' | 'run' | 'searches' | 'spending' | 'tally'>;

/** Opens the checkpoint and its latest run for reading. */
export async function withLatestRun<T>(
  job: LocalJob,
  use: (reader: Reader, run: string) => Promise<T>,
): Promise<T> {
  const reader = (await openCheckpointReader(job.config().stateDir))!;
  try {
    const { id } = (await reader.latestRun('nightly'))!;
    return await use(reader, id);
  } finally {
    await reader.close();
  }
}

/** The record numbers in each chunk of each round. */
export function roundsOf(job: LocalJob): Promise<number[][][]> {
  return withLatestRun(job, async (reader, run) => {
    const rounds: number[][][] = [];
    for (let round = 1; ; round++) {
      const chunks: number[][] = [];
      let chunk = await reader.nextChunk(run, round, 0);
      for (; chunk !== undefined; chunk = await reader.nextChunk(run, round, chunk.lastRecord)) {
        chunks.push([...(await reader.pickedRecords(run, chunk.number))!]);
      }
      if (chunks.length === 0) return rounds;
      rounds.push(chunks);
    }
  });
}
