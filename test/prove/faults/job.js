/** The job of every cell: sixty awkward records in three chunks, one upload at a time, times short enough to wait for. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const CHUNKS = 3;
export const CHUNK_RECORDS = 20;
export const TOKEN = 'a-token-of-the-matrix';
/** A text that only one record has, in the second chunk. */
export const BAD_RECORD = 'Harbor Hardware 26';

/** For cells in which an outage lasts for ever. */
export const impatient = { retry: { giveUpAfter: '1500ms' } };
/** For cells in which a folio is not known for a while; the times are those of a real night. */
export const patient = { poll: { lostAfter: '30m' } };
/** For cells in which a folio is never done. */
export const shortPoll = { poll: { timeout: '1s' } };
/** For cells in which the service is silent for too long. */
export const shortTimeouts = { timeouts: { idle: '400ms', upload: '1s' } };

/** Writes the source and the config of a cell into its folder. @returns the paths that matter. */
export function writeJob(folder, baseUrl, changes = {}) {
  const sections = {
    source: { path: 'source.csv' },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl, legacyBaseUrl: baseUrl, token: TOKEN, requestsPerSecond: 1000 },
    chunks: { maxRecords: CHUNK_RECORDS },
    // One upload at a time, so that the second folio is the second chunk's.
    concurrency: { uploads: 1, folios: 4, downloads: 2 },
    poll: { first: '30ms', max: '80ms', timeout: '1m', lostAfter: '300ms' },
    retry: { first: '20ms', max: '50ms', giveUpAfter: '1m' },
    failures: { tolerate: '100%' },
    output: { path: 'out/enriched.csv' },
  };
  for (const [name, section] of Object.entries(changes)) sections[name] = { ...sections[name], ...section };
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'job.yaml');
  // JSON is YAML.
  writeFileSync(config, JSON.stringify({ pipeline: 'faults', ...sections, stateDir: 'state' }));
  writeFileSync(join(folder, 'source.csv'), sourceText());
  return { config, output: join(folder, 'out', 'enriched.csv') };
}

/** Quoted commas, quotes and newlines, equal records, and empty names, which the service fails. */
function sourceText() {
  const kinds = [
    (n) => `Harbor Hardware ${n},${n} Main St,MT,plain`,
    (n) => `"Zamora, Inc. ${n}","${n} Oak Ave, Suite 5",MA,"said ""open"""`,
    (n) => `"Benoît\nHoldings ${n}",${n} Church St,ID,"two\nlines"`,
    () => 'Twin Rivers Roofing,9155 Higgins Ave,MT,the same each time',
    (n) => `,${n} Elm St,ME,no name`,
  ];
  const records = Array.from({ length: CHUNKS * CHUNK_RECORDS }, (_, at) => kinds[at % kinds.length](at + 1));
  return `BusinessName,Address,State,Note\n${records.join('\n')}\n`;
}
