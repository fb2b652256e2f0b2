/**
 * Measures every case beside its peers. After `npm run build` and `npm ci --prefix bench`:
 * node bench/run.js [--only chunking,merging] [--records N] [--pairs 5] [--rows NAME,...] [--write]
 */
import { existsSync } from 'node:fs';
import { account } from './cases/account.js';
import { anchors } from './cases/anchors.js';
import { check } from './cases/check.js';
import { chunking } from './cases/chunking.js';
import { client } from './cases/client.js';
import { decoding } from './cases/decoding.js';
import { delta } from './cases/delta.js';
import { dialects } from './cases/dialects.js';
import { fleet } from './cases/fleet.js';
import { formats } from './cases/formats.js';
import { growth } from './cases/growth.js';
import { load } from './cases/load.js';
import { memory } from './cases/memory.js';
import { merging } from './cases/merging.js';
import { nights } from './cases/nights.js';
import { records as recordObjects } from './cases/records.js';
import { resume } from './cases/resume.js';
import { reuse } from './cases/reuse.js';
import { shapes } from './cases/shapes.js';
import { start } from './cases/start.js';
import { state } from './cases/state.js';
import { waiting } from './cases/waiting.js';
import { openLab } from './lab.js';
import { readOptions } from './read-options.js';
import { measureSection, writeSection } from './results.js';
import { joinStagePrograms } from './stage-programs.js';

const CASES = {
  chunking,
  merging,
  decoding,
  client,
  growth,
  memory,
  resume,
  start,
  check,
  dialects,
  reuse,
  nights,
  delta,
  load,
  formats,
  records: recordObjects,
  anchors,
  shapes,
  waiting,
  state,
  fleet,
  account,
};

const { values, refuse } = readOptions(
  `npm run bench -- [--only CASE,...] [--records N] [--pairs N] [--rows NAME,...] [--write]
cases: ${Object.keys(CASES).join(', ')}`,
  {
    only: { type: 'string' },
    records: { type: 'count' },
    pairs: { type: 'count', default: '5' },
    rows: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
);
const { pairs, records } = values;
const names = values.only?.split(',') ?? Object.keys(CASES);
const unknown = names.find((name) => !Object.hasOwn(CASES, name));
if (unknown !== undefined) refuse(`there is no case ${unknown}`);

if (!existsSync(new URL('node_modules', import.meta.url))) {
  console.error('the peers are missing; install them with: npm ci --prefix bench');
  process.exit(2);
}

await joinStagePrograms();
const titles = Object.values(CASES).map((each) => each.title);
const lab = openLab({ pairs, records, rows: values.rows?.split(',') });
try {
  for (const name of names) {
    const missing = await CASES[name].missing?.();
    if (missing !== undefined) {
      console.error(`SKIPPED: ${name}: ${missing}\n`);
      continue;
    }
    const asked = [
      '--only',
      name,
      ...(records === undefined ? [] : ['--records', records]),
      '--pairs',
      pairs,
    ];
    const measured = await measureSection(CASES[name], `npm run bench -- ${asked.join(' ')}`, lab);
    console.log(`${measured.text}\n`);
    if (values.write) writeSection(measured, titles);
  }
} finally {
  lab.close();
}
