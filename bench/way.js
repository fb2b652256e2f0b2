/**
 * Counts the source files that one chunk passes on its way from `enrich` to the output: those of which a function is
 * called after the source was scanned and before the chunk's rows are merged. `node bench/way.js [--files] [DIST]`, after `npm run build`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TOKEN } from './job.js';
import { readOptions } from './read-options.js';
import { withService } from './service.js';

const { values, words } = readOptions(
  'node bench/way.js [--files] [DIST]',
  { files: { type: 'boolean', default: false } },
  (count) => count <= 1,
);
const dist = resolve(words[0] ?? 'dist');
const { enrich, parseConfig } = await import(pathToFileURL(join(dist, 'pipelines/index.js')).href);
const folder = await mkdtemp(join(tmpdir(), 'foliopipe-way-'));
try {
  const files = await withService(join(folder, 'service'), calledFiles);
  const folders = groupBy(files, (file) => file.split('/').slice(0, 2).join('/').replace(/\.js$/, '.ts'));
  for (const [name, some] of Object.entries(folders)) console.log(`${name}: ${some.length}`);
  if (values.files) for (const file of files) console.log(file);
  console.log(`${files.length} files`);
} finally {
  await rm(folder, { recursive: true });
}

function groupBy(items, keyOf) {
  const groups = {};
  for (const item of items) {
    groups[keyOf(item)] ??= [];
    groups[keyOf(item)].push(item);
  }
  return groups;
}

/** Runs one small job and gives the files of which a function was called since its run was known. */
async function calledFiles(baseUrl) {
  await writeFile(
    join(folder, 'source.csv'),
    'name,address\nHarbor Hardware,1 Main St\n"Bakery, Old",2 Main St\n',
  );
  const config = parseConfig(
    {
      pipeline: 'way',
      source: { path: 'source.csv' },
      upload: { columns: { name: 'name' } },
      service: { baseUrl, token: TOKEN },
      poll: { first: '20ms', max: '50ms' },
      output: { path: 'out.csv' },
      stateDir: 'state',
    },
    folder,
  );
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  // The inspector carries out the command at once, and taking the coverage sets its counts to zero.
  const coverages = [];
  const take = () => coverages.push(session.post('Profiler.takePreciseCoverage'));
  const at = (failpoint) => {
    if (failpoint === 'after-merged-before-next') take();
  };
  const onProgress = ({ type }) => {
    if (type === 'run') take();
  };
  await enrich(config, { onProgress, at });
  const { result } = await coverages[1];
  session.disconnect();
  const prefix = pathToFileURL(`${dist}/`).href;
  const isCalled = ({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0;
  return result
    .filter(({ url, functions }) => url.startsWith(prefix) && functions.some(isCalled))
    .map(({ url }) => url.slice(prefix.length))
    .sort();
}
