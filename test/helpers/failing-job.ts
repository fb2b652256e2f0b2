/** Jobs whose failed records may succeed when they are asked for again: what stands for each, and what was paid. */
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';
import { type Checkpoint, openCheckpointReader } from '../../pipelines/index.js';
import { fineNames, foreseenCode, type LocalJob, type LocalJobSetup } from './local-job.js';

/** Of the first so many uploads this share of the records fails. */
export function failing(share: string, uploads: number): object {
  return { on: 'upload', calls: { to: uploads }, fault: { fail: share } };
}

/** 30 records in three chunks, sent one after the other so that the chance falls alike in every run of the job. */
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

/** Every record predicted or FAILED as the service foresees, in the source's order. */
export async function expectPredicted(job: LocalJob, failed: readonly number[] = []): Promise<void> {
  const rows = await job.rows();
  expect(rows).toHaveLength(30);
  for (const [at, row] of rows.entries()) {
    const isFailed = failed.includes(at + 1);
    expect(row, `record ${at + 1}`).toMatchObject({
      Name: fineNames(30)[at],
      prediction_status: isFailed ? 'FAILED' : 'SUCCESSFUL',
      prediction_error_code: isFailed ? 'SERVICE_FAILED' : '',
      prediction_naics_code: isFailed ? '' : foreseenCode(row.Name!),
    });
  }
}

/** Numbers of the records that are FAILED in an output. */
export function failedIn(output: string | Buffer): number[] {
  const rows = parse(output, { columns: true }) as Record<string, string>[];
  return rows.flatMap(({ prediction_status }, at) => (prediction_status === 'FAILED' ? [at + 1] : []));
}

type Reader = Pick<Checkpoint, 'nextChunk' | 'pickedRecords' | 'run' | 'searches' | 'spending' | 'tally'>;

/** What the client keeps of its newest run, while `use` looks. */
export async function withKept<T>(
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

/** The records of each round's chunks. */
export function roundsOf(job: LocalJob): Promise<number[][][]> {
  return withKept(job, async (reader, run) => {
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
