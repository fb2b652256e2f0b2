/** The one job that all cases do: three of the source's seven columns and the record's number are sent. */
import { writeFileSync } from 'node:fs';

export const COLUMNS = { name: 'BusinessName', address: 'Address', state: 'State' };
export const KEY = 'record_id';
export const CHUNK_RECORDS = 10_000;
export const TOKEN = 'bench';

/** An address without a service, for commands that ask none. */
export const NO_SERVICE = 'http://127.0.0.1:1';

/**
 * Writes the config of the job into `work`.
 * @param changes keys that differ from the usual ones, by section.
 * @param keys top-level keys that differ from the usual ones.
 * @returns its path.
 */
export function writeJob(job, changes = {}, keys = {}) {
  const path = `${job.work}/config.json`;
  const config = { ...jobConfig(job), ...keys };
  for (const [name, keys] of Object.entries(changes)) config[name] = { ...config[name], ...keys };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

/** A config as YAML would give it. `work` holds the state and the output. */
export function jobConfig({
  source,
  work,
  baseUrl,
  encoding = 'auto',
  columns = COLUMNS,
  keyColumn = KEY,
  chunks = { maxRecords: CHUNK_RECORDS },
}) {
  return {
    pipeline: 'bench',
    source: { path: source, encoding },
    upload: { columns, keyColumn },
    service: { baseUrl, token: TOKEN, requestsPerSecond: 1000 },
    chunks,
    poll: { first: '50ms' },
    failures: { tolerate: 1 },
    output: { path: `${work}/out.csv` },
    stateDir: `${work}/state`,
  };
}
