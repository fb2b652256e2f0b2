/**
 * Compares the whole client of this build with that of another tree, a release or an older commit that was built:
 * `node bench/compare.js OTHER_TREE [--records 300000] [--pairs 10]`, after `npm run build` in both.
 */
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { alternate } from './alternate.js';
import { openLab } from './lab.js';
import { measureClient } from './measure-client.js';
import { shareOf } from './rows.js';
import { checkSame } from './same-files.js';
import { cli } from './service.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    records: { type: 'string', default: '300000' },
    pairs: { type: 'string', default: '10' },
  },
});
if (positionals.length !== 1) {
  console.error('usage: node bench/compare.js OTHER_TREE [--records N] [--pairs N]');
  process.exit(2);
}
const programs = { ours: cli, other: join(resolve(positionals[0]), 'dist/bundle/cli.js') };
const lab = openLab({ pairs: Number(values.pairs), records: Number(values.records) });
try {
  const source = await lab.source(Number(values.records));
  const measure = (name) => () => measureClient(lab.emptyFolder(name), source, programs[name]);
  const { ours, other } = await alternate(lab.pairs, { ours: measure('ours'), other: measure('other') }, () =>
    checkSame(lab.path('ours/out.csv'), lab.path('other/out.csv')),
  );
  console.log(`${values.records} records, ${values.pairs} pairs; both wrote the same bytes`);
  for (const figure of ['cpuSeconds', 'wallSeconds', 'peakRssMB']) {
    const row = shareOf({ what: figure, beside: 'other', figure, ours, peer: other });
    console.log(`${row.what}: ${row.ours}; ${row.beside}; ours / other: ${row.ratio}`);
  }
} finally {
  lab.close();
}
