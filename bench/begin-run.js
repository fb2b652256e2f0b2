/** Runs as the cases need them: begun, with the source checked and nothing of it chunked yet. */
import { readdirSync, writeFileSync } from 'node:fs';
import { jobConfig } from './job.js';
import { program } from './lab.js';
import { measureNode } from './measure.js';

/** @returns the config's path; the state is in `work`, an empty folder. */
export async function beginRun(work, source, encoding) {
  const config = `${work}/config.json`;
  writeFileSync(config, JSON.stringify(jobConfig({ source, work, baseUrl: 'http://127.0.0.1:1', encoding })));
  await measureNode([program('ours/begin.js'), config]);
  return config;
}

/** The folder of the one run whose state is in `work`. */
export function onlyRun(work) {
  const [run] = readdirSync(`${work}/state/runs`);
  return `${work}/state/runs/${run}`;
}
