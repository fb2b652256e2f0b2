/**
 * Our side of the reuse of answers: fills a store, looks up a source in it, or writes the hits of the look-up as CSV.
 * node bench/ours/reuse.js fill FOLDER SOURCE SEGMENTS
 * node bench/ours/reuse.js look FOLDER SOURCE send|once
 * node bench/ours/reuse.js hits FOLDER SOURCE HITS
 */
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { scanRecords } from '../../dist/src/csv/scan-records.js';
import { readPartTable } from '../../dist/src/results/part-table.js';
import { createLocalAnswerStore } from '../../dist/src/reuse/local-answer-store.js';
import { readPieces } from '../../dist/src/streams/read-pieces.js';
import { ANSWER_COLUMNS, answerOf, SENT_COLUMNS, SENT_FIELDS } from '../bought-answers.js';
import { timed } from '../timed.js';

const [way, folder, path, wish] = process.argv.slice(2);
const FIELDS = 8;
const HEADER_BYTES = 'Account,Name,Address,City,State,Zip,Phone,Note\n'.length;
const DAY = 24 * 60 * 60 * 1000;
const rows = join(folder, 'segments.json');
const store = createLocalAnswerStore(join(folder, 'reuse'));
const chosen = join(folder, 'choice.json');
if (way === 'hits') await writeHits();
else await timed(way === 'fill' ? fill : look);

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
      columns: ANSWER_COLUMNS,
      epoch: '',
      keyColumn: 'Account',
    });
    await writer.add(batch, batch.numbers, answersOf(batch));
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

function answersOf({ numbers, count }) {
  const firstRecord = numbers[0];
  const lines = Array.from({ length: count }, (_, at) => `${answerOf(firstRecord + at)}\n`);
  const table = readPartTable(
    { fileStatus: 'SUCCESSFUL', part: 1 },
    Buffer.from(`${ANSWER_COLUMNS}\n${lines.join('')}`),
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
    skipsBlank: false,
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
  writeFileSync(chosen, JSON.stringify(choice));
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

/** The answers of the last look-up, from its choice. */
async function writeHits() {
  const choice = await store.openChoice('R', JSON.parse(readFileSync(chosen, 'utf8')));
  const file = openSync(wish, 'w');
  for await (const { numbers, answers } of choice.reused(1, false)) {
    let lines = '';
    for (const [at, number] of numbers.entries()) {
      const { bytes, starts, ends } = answers.sources[answers.source[at]].table;
      const result = answers.result[at];
      lines += `${number},${Buffer.from(bytes.subarray(starts[result], ends[result]))}\n`;
    }
    writeSync(file, lines);
  }
  closeSync(file);
  await choice.close();
}
