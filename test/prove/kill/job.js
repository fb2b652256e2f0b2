/** The job that is killed: its config, its sources night by night, and what the service has accepted for it. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createDice } from '../../../bench/dice.js';
import { openSqlite } from '../../../dist/src/sqlite-driver.js';

const generator = fileURLToPath(new URL('../../../bench/generate.js', import.meta.url));

/** Writes the config of a job into its folder; with several nights, answers are reused. */
export function writeConfig(work, baseUrl, nights) {
  mkdirSync(work, { recursive: true });
  const file = join(work, 'foliopipe.yaml');
  const config = {
    pipeline: 'kill',
    source: { path: join(work, 'source.csv') },
    upload: { columns: { name: 'BusinessName', address: 'Address', state: 'State' } },
    service: { baseUrl, token: 'kill', requestsPerSecond: 1000 },
    chunks: { maxRecords: 100 },
    concurrency: { uploads: 3, folios: 5, downloads: 2 },
    poll: { first: '50ms', max: '200ms' },
    retry: { first: '50ms', max: '200ms', giveUpAfter: '5s' },
    failures: { tolerate: 1 },
    ...(nights > 1 && { reuse: { maxAge: '90d' } }),
    output: { path: join(work, 'out/enriched.csv') },
    stateDir: join(work, 'state'),
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

/**
 * Writes the sources of the nights. Each night one record of `newOneIn` is new, as many are gone, and the order and a
 * column that is not sent are different. The last of several nights has the records of the first one.
 * @returns their paths.
 */
export function writeSources(folder, { records, seed, nights, newOneIn = 5 }) {
  const first = join(folder, 'night-1.csv');
  execFileSync(process.execPath, [
    generator,
    '--records',
    `${2 * records}`,
    '--seed',
    `${seed}`,
    '--out',
    first,
  ]);
  const [header, ...lines] = readFileSync(first, 'utf8')
    .trimEnd()
    .split(/\n(?=A\d+,)/);
  const random = createDice(seed);
  let tonight = lines.slice(0, records);
  const fresh = lines.slice(records);
  return Array.from({ length: nights }, (_, at) => {
    const isLast = at > 0 && at === nights - 1;
    if (isLast) tonight = lines.slice(0, records);
    else if (at > 0)
      tonight = shuffled(
        tonight.map((line) => (random(newOneIn) === 0 ? (fresh.pop() ?? line) : line)),
        random,
      );
    const path = join(folder, `night-${at + 1}.csv`);
    const noted = tonight.map((line) => (at === 0 ? line : `N${at + 1}-${line}`));
    writeFileSync(path, `${[header, ...noted].join('\n')}\n`);
    return path;
  });
}

function shuffled(items, random) {
  const all = [...items];
  for (let at = all.length - 1; at > 0; at--) {
    const other = random(at + 1);
    [all[at], all[other]] = [all[other], all[at]];
  }
  return all;
}

/** Puts the source of a night into its place. */
export function placeSource(work, source) {
  copyFileSync(source, join(work, 'source.csv'));
}

/** How many uploads the stopped service has accepted, and their records. */
export function acceptedBy(work) {
  const database = openSqlite(join(work, 'service/service.db'), { readonly: true });
  try {
    return database
      .prepare('SELECT count(*) AS uploads, coalesce(sum(records), 0) AS records FROM folios')
      .get();
  } finally {
    database.close();
  }
}
