/**
 * Reuse of answers by SQLite: a table of the known answers, and a look-up for each record of the source.
 * node bench/peers/reuse-sqlite.js fill|look|hits FOLDER SOURCE [HITS]
 * `look` keeps the number and the answer of each record whose answer is known. `hits` writes those as CSV.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqlite } from '../../dist/src/sqlite-driver.js';
import { answerOf, SENT_FIELDS } from '../bought-answers.js';
import { timed } from '../timed.js';
import { readBatches } from './read-batches.js';

const BATCH_RECORDS = 10_000;
const CACHE_KIB = 256 * 1024;

const [way, folder, source, hits] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const database = openSqlite(join(folder, 'known.db'));
database.pragma('journal_mode = WAL');
database.pragma('synchronous = NORMAL');
database.pragma(`cache_size = -${CACHE_KIB}`);
if (way === 'fill') await timed(fill);
else if (way === 'look') {
  database.exec('DROP TABLE IF EXISTS hits');
  await timed(look);
} else writeFileSync(hits, hitLines());
database.close();

/** The sent fields as one text. No field holds this character. */
function keyOf(record) {
  return SENT_FIELDS.map((field) => record[field]).join('\u001f');
}

async function fill() {
  database.exec('CREATE TABLE known (key TEXT PRIMARY KEY, answer TEXT NOT NULL) WITHOUT ROWID');
  const insert = database.prepare('INSERT INTO known VALUES (?, ?)');
  let number = 0;
  const add = database.transaction((batch) => {
    for (const record of batch) {
      number += 1;
      insert.run(keyOf(record), answerOf(number));
    }
  });
  for await (const batch of readBatches(source, BATCH_RECORDS)) add(batch);
  database.pragma('wal_checkpoint(TRUNCATE)');
  return { records: number };
}

async function look() {
  database.exec('CREATE TABLE hits (number INTEGER PRIMARY KEY, answer TEXT NOT NULL)');
  const find = database.prepare('SELECT answer FROM known WHERE key = ?').pluck();
  const keep = database.prepare('INSERT INTO hits VALUES (?, ?)');
  let records = 0;
  let reused = 0;
  const lookUp = database.transaction((batch) => {
    for (const record of batch) {
      records += 1;
      const answer = find.get(keyOf(record));
      if (answer === undefined) continue;
      keep.run(records, answer);
      reused += 1;
    }
  });
  let lookCpuSeconds = 0;
  for await (const batch of readBatches(source, BATCH_RECORDS)) {
    const before = process.cpuUsage();
    lookUp(batch);
    const { user, system } = process.cpuUsage(before);
    lookCpuSeconds += (user + system) / 1e6;
  }
  database.pragma('wal_checkpoint(TRUNCATE)');
  return { records, reused, lookCpuSeconds };
}

function hitLines() {
  const rows = database.prepare('SELECT number, answer FROM hits ORDER BY number').raw().all();
  return rows.map(([number, answer]) => `${number},${answer}\n`).join('');
}
