/**
 * Compares this build with that of another tree, a release or an older commit that was built: the check of the source,
 * and the whole client. After `npm run build` in both:
 * node bench/compare.js OTHER_TREE [--records 300000] [--pairs 10] [--at-most RATIO] [--write TITLE]
 * `--write` puts the figures under that title into RESULTS.md.
 */
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { alternate } from './alternate.js';
import { NO_SERVICE, writeJob } from './job.js';
import { openLab } from './lab.js';
import { measureNode } from './measure.js';
import { measureClient } from './measure-client.js';
import { readOptions } from './read-options.js';
import { measureSection, writeSection } from './results.js';
import { shareOf } from './rows.js';
import { checkSame } from './same-files.js';
import { cli } from './service.js';

const { values, words } = readOptions(
  'node bench/compare.js OTHER_TREE [--records N] [--pairs N] [--at-most RATIO] [--write TITLE]',
  {
    records: { type: 'count', default: '300000' },
    pairs: { type: 'count', default: '10' },
    'at-most': { type: 'number', least: 0 },
    write: { type: 'string' },
  },
  (count) => count === 1,
);
const [tree] = words;
const { records, pairs, 'at-most': atMost } = values;
const programs = { ours: cli, other: join(resolve(tree), 'dist/bundle/cli.js') };
const lab = openLab({ pairs, records });
try {
  const command = ['node', 'bench/compare.js', ...process.argv.slice(2)].map(quoted).join(' ');
  const measured = await measureSection(
    { title: values.write ?? 'Beside another build', run: compare },
    command,
    lab,
  );
  console.log(measured.text);
  if (values.write !== undefined) writeSection(measured, []);
} finally {
  lab.close();
}

async function compare() {
  const source = await lab.source(records);
  const run = (name) => () => measureClient(lab.emptyFolder(name), source, programs[name]);
  const plan = (name) => () => measurePlan(lab.emptyFolder(`${name}-plan`), source, programs[name]);
  const { oursPlan, otherPlan, ours, other } = await alternate(
    pairs,
    { oursPlan: plan('ours'), otherPlan: plan('other'), ours: run('ours'), other: run('other') },
    () => checkSame(lab.path('ours/out.csv'), lab.path('other/out.csv')),
  );
  const beside = commitOf(tree);
  const planned = { what: 'the check (`foliopipe plan`)', beside, ours: oursPlan, peer: otherPlan };
  const ran = { what: 'the client (`foliopipe run`)', beside, ours, peer: other };
  return {
    notes: [
      `${records} records, reuse off; both builds wrote the same bytes.`,
      `Ours is ${commitOf('.')}, with the service of this build for both.`,
    ],
    rows: [
      shareOf({ ...planned, figure: 'cpuSeconds', atMost }),
      shareOf({ ...planned, figure: 'wallSeconds' }),
      shareOf({ ...ran, figure: 'cpuSeconds', atMost }),
      shareOf({ ...ran, figure: 'wallSeconds' }),
      shareOf({ ...ran, figure: 'peakRssMB' }),
    ],
  };
}

function measurePlan(work, source, path) {
  const config = writeJob({ source, work, baseUrl: NO_SERVICE });
  return measureNode([path, 'plan', config, '--log-level', 'warn']);
}

/** What a tree is called: its commit; or its path, if it has none. */
function commitOf(folder) {
  try {
    const args = ['-C', folder, 'describe', '--always', '--dirty'];
    return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return folder;
  }
}

/** A word of a command, as a shell takes it. */
function quoted(word) {
  return /\s/.test(word) ? `'${word}'` : word;
}
