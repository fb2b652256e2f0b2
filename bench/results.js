/** RESULTS.md: one section a case, each rewritten when its case was measured again; everything else in it stays. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { arch, cpus, loadavg, platform, totalmem } from 'node:os';
import { table } from './rows.js';

const file = new URL('RESULTS.md', import.meta.url);
const PEERS = ['csv-parse', 'csv-stringify', 'p-limit', '@duckdb/node-api', 'better-sqlite3'];

/**
 * Runs a case; gives its title and its text: the command that measures it again, where it was measured, its figures.
 * @throws if it has measured nothing, so that no empty table replaces an older one.
 */
export async function measureSection({ title, run }, command, lab) {
  const before = loadavg()[0];
  const { notes, rows } = await run(lab);
  if (rows.length === 0) throw new Error(`${title}: nothing was measured: ${notes.join(' ')}`);
  // The two processes of a case load the machine themselves: more load than that comes from others.
  const load = `load average ${before.toFixed(1)} before, ${loadavg()[0].toFixed(1)} after`;
  return {
    title,
    text: [`## ${title}`, `\`${command}\` on ${machine()}; ${load}.`, notes.join(' '), table(rows)].join(
      '\n\n',
    ),
  };
}

/** Replaces the section of the same title. The sections are in the order of `titles`; any others follow them. */
export function writeSection({ title, text }, titles) {
  const [head, ...old] = readFileSync(file, 'utf8').split(/^(?=## )/m);
  const texts = new Map(old.map((text) => [/^## (.*)$/m.exec(text)[1], text.trimEnd()]));
  texts.set(title, text);
  const others = [...texts.keys()].filter((other) => !titles.includes(other));
  const ordered = [...titles, ...others].flatMap((known) => texts.get(known) ?? []);
  writeFileSync(file, `${[head.trimEnd(), ...ordered].join('\n\n')}\n`);
}

function machine() {
  const memory = `${Math.round(totalmem() / 1024 ** 3)} GiB`;
  const versions = PEERS.map((name) => `${name} ${versionOf(name)}`);
  const cores = cpus();
  return `${cores.length} × ${cores[0]?.model ?? arch()} (${memory}, ${platform()}), Node ${process.versions.node}, ${versions.join(', ')}`;
}

/** The version of a package of this folder, or of the project. */
function versionOf(name) {
  const places = ['', '../'].map(
    (folder) => new URL(`${folder}node_modules/${name}/package.json`, import.meta.url),
  );
  return JSON.parse(
    readFileSync(
      places.find((place) => existsSync(place)),
      'utf8',
    ),
  ).version;
}
