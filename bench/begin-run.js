/** Runs as the cases need them: begun, with the source checked and nothing chunked yet. */
import { readdirSync } from 'node:fs';
import { NO_SERVICE, writeJob } from './job.js';
import { program } from './lab.js';
import { measureNode } from './measure.js';

/** @returns the config's path; the state is in `work`, an empty folder. */
export async function beginRun(work, source, encoding) {
  const config = writeJob({ source, work, baseUrl: NO_SERVICE, encoding });
  await measureNode([program('ours/begin.js'), config]);
  return config;
}

/** The folder of the one run whose state is in `work`. */
export function onlyRun(work) {
  const [run] = readdirSync(`${work}/state/runs`);
  return `${work}/state/runs/${run}`;
}
