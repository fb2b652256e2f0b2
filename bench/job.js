/** The one job that all cases do: three of the source's seven columns and the record's number are sent. */

export const COLUMNS = { name: 'BusinessName', address: 'Address', state: 'State' };
export const KEY = 'record_id';
export const CHUNK_RECORDS = 10_000;
export const TOKEN = 'bench';

/** A config as YAML would give it. `work` holds the state and the output. */
export function jobConfig({ source, work, baseUrl, encoding = 'auto' }) {
  return {
    pipeline: 'bench',
    source: { path: source, encoding },
    upload: { columns: COLUMNS, keyColumn: KEY },
    service: { baseUrl, token: TOKEN, requestsPerSecond: 1000 },
    chunks: { maxRecords: CHUNK_RECORDS },
    poll: { first: '50ms' },
    failures: { tolerate: 1 },
    output: { path: `${work}/out.csv` },
    stateDir: `${work}/state`,
  };
}
