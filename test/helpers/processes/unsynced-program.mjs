/**
 * Runs a job, and reports at each failpoint what a power failure would take: a file with bytes that were not synced since
 * they were written, and a name that a folder has got or lost since the folder was synced. A program of its own, because
 * the functions of Node must be replaced before foliopipe is loaded.
 *
 * Arguments: the built library, the config, the folder to watch. Writes a JSON object a line: the failpoint, or `rename`
 * and the new name, and what would be lost there; and the new name of a file that gets it before its bytes are synced.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join, relative } from 'node:path';

const [, , library, config, watched] = process.argv;

/** What is on the disk for certain, by inode: the state of each file, and the inodes of the names in each folder. */
const files = new Map();
const folders = new Map();
const { openSync, readdirSync, readFileSync, lstatSync, fstatSync } = fs;

const identityOf = ({ dev, ino }) => `${dev} ${ino}`;
const stateOf = ({ size, mtimeNs }) => `${size} ${mtimeNs}`;
const statOf = (path) => lstatSync(path, { bigint: true, throwIfNoEntry: false });

function namesIn(folder) {
  const found = readdirSync(folder).map((name) => [name, statOf(join(folder, name))]);
  return new Map(found.filter(([, stat]) => stat).map(([name, stat]) => [name, identityOf(stat)]));
}

/** Taken before a sync, because what is written later need not be on the disk when the sync ends. */
function snapshot(path, stat) {
  if (!stat.isDirectory()) return () => files.set(identityOf(stat), stateOf(stat));
  const names = namesIn(path);
  return () => folders.set(identityOf(stat), names);
}

const opened = new Map();
const snapshotOf = (file) => snapshot(opened.get(file), fstatSync(file, { bigint: true }));

fs.openSync = (path, ...rest) => {
  const file = openSync(path, ...rest);
  opened.set(file, path);
  return file;
};
for (const name of ['fsyncSync', 'fdatasyncSync']) {
  const sync = fs[name];
  fs[name] = (file) => {
    const record = snapshotOf(file);
    sync(file);
    record();
  };
}
for (const name of ['fsync', 'fdatasync']) {
  const sync = fs[name];
  fs[name] = (file, done) => {
    const record = snapshotOf(file);
    sync(file, (error) => {
      if (!error) record();
      done(error);
    });
  };
}
const handle = await fs.promises.open(process.execPath);
const handles = Object.getPrototypeOf(handle);
await handle.close();
for (const name of ['sync', 'datasync']) {
  const sync = handles[name];
  handles[name] = async function () {
    const record = snapshotOf(this.fd);
    await sync.call(this);
    record();
  };
}
const { renameSync } = fs;
fs.renameSync = (from, to) => {
  if (!relative(watched, to).startsWith('..')) {
    report(`rename ${relative(watched, to)}`);
    if (!isSynced(statOf(from))) report('rename of what is not synced', [relative(watched, to)]);
  }
  renameSync(from, to);
};
syncBuiltinESMExports();

/** Calls back with each file and folder under a folder, and the folder itself. */
function walk(path, visit) {
  const stat = statOf(path);
  if (stat === undefined) return;
  visit(path, stat);
  if (stat.isDirectory()) for (const name of readdirSync(path)) walk(join(path, name), visit);
}

function lost() {
  const found = [];
  const add = (what, path) => found.push(`${what} ${relative(watched, path)}`);
  walk(watched, (path, stat) => {
    if (!stat.isDirectory()) {
      if (!isSynced(stat)) add(['bytes', ...typesOfLines(path, stat)].join(' '), path);
      return;
    }
    const durable = folders.get(identityOf(stat)) ?? new Map();
    const now = namesIn(path);
    for (const [name, identity] of now) if (durable.get(name) !== identity) add('name', join(path, name));
    for (const name of durable.keys()) if (!now.has(name)) add('removal', join(path, name));
  });
  return found;
}

/** The types of the lines that were added to a journal since its last sync. */
function typesOfLines(path, stat) {
  if (!path.endsWith('.log')) return [];
  const synced = Number.parseInt(files.get(identityOf(stat)) ?? '0', 10);
  const added = readFileSync(path).subarray(synced).toString();
  return Array.from(added.matchAll(/"type":"([a-z-]+)"/g), ([, type]) => type);
}

function isSynced(stat) {
  return stat.size === 0n || files.get(identityOf(stat)) === stateOf(stat);
}

function report(point, names = lost()) {
  process.stdout.write(`${JSON.stringify({ point, lost: names })}\n`);
}

walk(watched, (path, stat) => snapshot(path, stat)());
const { enrich, loadConfig } = await import(library);
const loaded = await loadConfig({ files: [config], env: process.env, overrides: [], cwd: watched });
await enrich(loaded, { at: (point) => report(point) });
