/** A job against the independent service whose source is done: what stands beside its output, and what is told. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import type { Logger } from '../../pipelines/index.js';
import { type Job, withJob } from './other-service-job.js';
import { behaviour } from './other-service-resume.js';
import { sourceText } from './other-service-source.js';

const A = sourceText(60);
/** Another source. */
export const B = sourceText(30);

/** Runs `use` on a job whose source A is done; the service is not asked again. */
export async function withDoneJob(use: (job: Job, run: string) => Promise<void>): Promise<void> {
  await withJob({ behaviour }, async (job) => {
    const { run } = await job.enrich();
    const seen = job.service.seen.length;
    await use(job, run);
    expect(job.service.seen.length).toBe(seen);
  });
}

/** Another source is done in between, and the first one put back; the id of that run. */
export async function enrichB(job: Job): Promise<string> {
  await writeFile(job.sourcePath, B);
  const { run } = await job.enrich();
  await writeFile(job.sourcePath, A);
  return run;
}

/** Manifest and marker tell of this run and publication. */
export async function expectPublication(output: string, run: string, publication: number): Promise<void> {
  for (const end of ['manifest.json', '_SUCCESS']) {
    const told = JSON.parse(await readFile(`${output}.${end}`, 'utf8'));
    expect(told, end).toMatchObject({ run, publication });
  }
}

/** A logger that keeps what it is told. */
export function listen() {
  const said: string[] = [];
  const keep = (_: object, message: string) => void said.push(message);
  const logger: Logger = { debug: () => {}, info: keep, warn: keep, error: keep };
  return { said, logger };
}
