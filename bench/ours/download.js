/**
 * Downloads one part of any size through the real client into the real store (gzip, hash, sync).
 * node bench/ours/download.js BASE_URL WORK_FOLDER
 */
import { openPredictionApi } from '../../dist/src/api/open-prediction-api.js';
import { parseConfig } from '../../dist/src/config/load-config.js';
import { countRecords } from '../../dist/src/csv/kernel/count-records.js';
import { createLocalFiles } from '../../dist/src/files/local-run-files.js';
import { silentLogger } from '../../dist/src/logger.js';
import { jobConfig } from '../job.js';

const [baseUrl, work] = process.argv.slice(2);
const { service, timeouts, retry, stateDir } = parseConfig(
  jobConfig({ source: 'none.csv', work, baseUrl }),
  work,
);
const api = openPredictionApi({ ...service, timeouts, retry, logger: silentLogger });
const files = await createLocalFiles(stateDir).ofRun('bench-run');
const part = { part: 0, fileStatus: 'SUCCESSFUL' };
const request = { folio: 'large', ...part, maxBytes: Number.MAX_SAFE_INTEGER };
const stored = await api.download(
  request,
  async (content) => {
    const counted = countRecords(content);
    const written = await files.writePart(1, part, counted.content);
    return { ...written, records: counted.count() };
  },
  new AbortController().signal,
);
await api.close();
console.log(JSON.stringify(stored));
