/** A second run on a done run, and the ledger, where the checkpoint holds the rows of many runs. */
import { cpSync, statSync } from 'node:fs';
import { openSqlite } from '../../dist/src/sqlite-driver.js';
import { NO_SERVICE, writeJob } from '../job.js';
import { measureNode } from '../measure.js';
import { measureClient } from '../measure-client.js';
import { cli } from '../service.js';

const CHUNKS = 2000;
const CHUNK_RECORDS = 10;
const LARGE_BYTES = 700e6;
/** With its name, the service is the same one at another address, where nothing answers. */
const CONFIG = { chunks: { maxRecords: CHUNK_RECORDS }, service: { name: 'bench' } };

/** Prepares a command on a state in which one run of 2,000 chunks is done. */
export function onDone(command, { isLarge = false } = {}) {
  return async (lab) => {
    const source = await lab.source(CHUNKS * CHUNK_RECORDS);
    const work = lab.emptyFolder(`checkpoint-${command}-${isLarge ? 'large' : 'small'}`);
    cpSync(await doneWork(lab, source), work, { recursive: true, preserveTimestamps: true });
    if (isLarge) addRuns(`${work}/state/checkpoint.db`);
    const config = writeJob({ source, work, baseUrl: NO_SERVICE }, CONFIG);
    // Not measured: the first command reads the copied output, and checks all of a database that another program has written.
    await measureNode([cli, 'run', config]);
    return () => measureNode([cli, command, config]);
  };
}

/** The folder of the done run, for each lab. */
const made = new WeakMap();

function doneWork(lab, source) {
  if (!made.has(lab)) {
    const work = lab.emptyFolder('checkpoint-done');
    made.set(
      lab,
      measureClient(work, source, cli, { config: CONFIG }).then(() => work),
    );
  }
  return made.get(lab);
}

/** Adds runs like the only one of the checkpoint, but of other sources, before it. @returns how many there are. */
function addRuns(path) {
  const { size: bytes } = statSync(path);
  const others = Math.ceil(LARGE_BYTES / bytes) - 1;
  const db = openSqlite(path);
  const add = (table, replaced) => {
    const columns = db.pragma(`table_info(${table})`).map(({ name }) => name);
    const values = columns.map((name) => replaced[name] ?? `"${name}"`).join(', ');
    const names = columns.map((name) => `"${name}"`).join(', ');
    return db.prepare(`INSERT INTO ${table} (${names}) SELECT ${values} FROM ${table} WHERE run = @run`);
  };
  const [run] = db.prepare('SELECT id FROM runs').pluck().all();
  const columns = db.pragma('table_info(runs)').map(({ name }) => `"${name}"`);
  const addRun = db.prepare(`
    INSERT INTO runs (rowid, ${columns.join(', ')})
    SELECT -@at, ${columns
      .join(', ')
      .replace('"id"', '@id')
      .replace('"source"', "json_set(source, '$.sha256', hex(randomblob(32)))")
      .replace('"publication"', "json_set(publication, '$.number', -@at)")}
    FROM runs WHERE id = @run`);
  const tables = ['chunks', 'uploads', 'parts', 'stretches', 'spending'];
  const adds = tables.map((table) => add(table, { run: '@id' }));
  for (let at = 1; at <= others; at += 1) {
    const id = `${run}-${at}`;
    db.transaction(() => {
      addRun.run({ run, id, at });
      for (const one of adds) one.run({ run, id });
    })();
  }
  db.close();
  return others + 1;
}
