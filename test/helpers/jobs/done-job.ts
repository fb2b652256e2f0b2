/** A job that is done, for tests that publish its output again. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Logger } from '../../../pipelines/index.js';
import { type Job, withJob } from './fake-service-job.js';
import { behaviour } from './interrupted-job.js';
import { sourceText } from './sample-source.js';

const A = sourceText(60);
/** Another source. */
export const B = sourceText(30);

/** Runs `use` on a job whose source A is done, and expects that the service is not asked again. */
export async function withDoneJob(use: (job: Job, run: string) => Promise<void>): Promise<void> {
  await withJob({ behaviour }, async (job) => {
    const { run } = await job.enrich();
    const seen = job.service.seen.length;
    await use(job, run);
    expect(job.service.seen.length).toBe(seen);
  });
}

/** Enriches source B, then puts source A back. @returns the id of B's run. */
export async function enrichB(job: Job): Promise<string> {
  await writeFile(job.sourcePath, B);
  const { run } = await job.enrich();
  await writeFile(job.sourcePath, A);
  return run;
}

/** Expects manifest and marker to name this run and publication. */
export async function expectPublication(output: string, run: string, publication: number): Promise<void> {
  for (const end of ['manifest.json', '_SUCCESS']) {
    const found = JSON.parse(await readFile(`${output}.${end}`, 'utf8'));
    expect(found, end).toMatchObject({ run, publication });
  }
}

/** A logger that keeps its messages. */
export function listen() {
  const said: string[] = [];
  const keep = (_: object, message: string) => void said.push(message);
  const logger: Logger = { debug: () => {}, info: keep, warn: keep, error: keep };
  return { said, logger };
}
