/** A random job: files, config, a service with its faults, and the expected output. */

import { createHashPredictor } from '../../../dist/src/service/predictors/hash-predictor.js';
import { isPrediction } from '../../../dist/src/service/predictors/predictor.js';
import { maxRecordBytes as largestRecord } from '../../../dist/src/stages/chunk/cut-chunks.js';
import { randomFaults } from './healing-faults.js';
import {
  encodeFile,
  randomBadRecord,
  randomColumns,
  randomDialect,
  randomHeader,
  randomRecords,
  writeRecord,
  zip,
} from './source-files.js';

const predictor = createHashPredictor();
const ADDED = ['naics_code', 'naics_title', 'confidence'];
const names = Array.from({ length: 600 }, (_, at) => `N${at}`);
const failing = names.filter((name) => !isPrediction(predictor.predict(name)));
const FILE_NAMES = ['part-1', 'part-10', 'part-2', 'part-é', 'part- a', 'part-[b]', 'part-B'];

export function createJobCase(random) {
  const dialect = randomDialect(random);
  const { written, columns, usable } = randomHeader(random, randomColumns(random, dialect), dialect);
  const upload = randomUpload(random, usable);
  const named = upload.columns.name;
  const values = randomRecords(random, {
    ...dialect,
    columns,
    named,
    names: [...names.slice(0, 9), ...failing],
  });
  const good = values.map((record) => ({
    values: record,
    text: writeRecord(random, record, dialect),
  }));
  const chunks = randomChunks(random, upload, good);
  const maxRecordBytes = largestRecord(upload, chunks.maxBytes);
  const files = randomFiles(random, { ...dialect, header: written, columns, good, maxRecordBytes });
  const records = files.flatMap((file) => file.records);
  const faults = randomFaults(random);
  const output = randomOutput(random, usable);
  const sent = Object.values(upload.columns).map((column) => columns.indexOf(column));
  const isBlank = ({ values }) => upload.skipBlank && sent.every((at) => values[at].trim() === '');
  const unsendable = records.filter((record) => record.code !== undefined || isBlank(record)).length;
  return {
    files: files.map(({ name, bytes }) => ({ name, bytes })),
    config: {
      pipeline: 'fuzz',
      source: {
        path: files.length > 1 ? 'source/part-*' : `source/${files[0].name}`,
        encoding: dialect.encoding,
        delimiter: dialect.isDetected ? 'auto' : dialect.delimiter,
        maxRejected: random.pick(['100%', unsendable]),
        quote: dialect.quote,
        header: dialect.header === 'list' ? columns : dialect.header,
        skipLines: dialect.skipLines,
      },
      upload,
      chunks,
      concurrency: {
        uploads: random.between(1, 4),
        folios: random.between(1, 9),
        downloads: random.between(1, 4),
      },
      result: randomResult(random),
      output,
    },
    service: { segmentRecords: random.pick([1, 2, 7, 10_000]), maxUploadBytes: chunks.maxBytes, faults },
    expected: {
      columns,
      named,
      records,
      isBlank,
      keepsBytes: dialect.delimiter === ',' && dialect.quote === 'auto',
    },
  };
}

/** What the output says of a record that was not sent. */
export const skipped = {
  status: 'FAILED',
  code: 'NOTHING_TO_SEND',
  error: 'every sent column of this record is blank, so it was not sent',
};

/** What the local service says of a record with this name. */
export function foresee(name) {
  const outcome = predictor.predict(name);
  if (!isPrediction(outcome)) return { status: 'FAILED', code: 'SERVICE_FAILED', error: outcome.reason };
  const { code, title, confidence } = outcome;
  return {
    status: 'SUCCESSFUL',
    code: '',
    error: '',
    added: { naics_code: code, naics_title: title, confidence: confidence.toFixed(2) },
  };
}

/** Columns that the service adds, in its order. */
export const addedColumns = ADDED;

function randomUpload(random, columns) {
  const others = ['address', 'state', 'city, town', 'q"uote', 'zip', 'ünïcode'];
  const sent = ['name', ...random.shuffled(others).slice(0, random.below(4))];
  return {
    columns: Object.fromEntries(random.shuffled(sent).map((name) => [name, random.pick(columns)])),
    keyColumn: random.pick(['record_id', 'record_id', 'key, quoted', null]),
    skipBlank: !random.once(4),
  };
}

/** Sizes into which every record fits; often the smallest one, so that chunks are cut by bytes. */
function randomChunks(random, upload, good) {
  // Where quotes are text, a field with quotes is counted as it is sent: they are doubled, and two are around it.
  const longest = Math.max(...good.map(({ text }) => Buffer.byteLength(text) + 3 * text.split('"').length));
  const fitting = [1024, 2048, 4096, 65_536, 8 * 1024 ** 2].filter(
    (size) => largestRecord(upload, size) >= longest,
  );
  return {
    maxRecords: random.pick([1, 3, 10, 10_000]),
    maxBytes: random.once(3) ? fitting.at(-1) : fitting[0],
  };
}

/** The records over one to three files, in byte order of their names, with bad ones put between them. */
function randomFiles(random, { columns, good, maxRecordBytes, ...dialect }) {
  // A list of names must fit the first record of each file.
  const hasList = dialect.header === null;
  const count = hasList ? 1 : random.pick([1, 1, 2, 3]);
  const isRejecting = random.once(2);
  const borders = random
    .some(count - 1, count - 1, () => random.below(good.length + 1))
    .sort((a, b) => a - b);
  const fileNames = random.shuffled(FILE_NAMES).slice(0, count);
  fileNames.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return fileNames.map((name, at) => {
    const isAuto = dialect.encoding === 'auto';
    const encoding = isAuto ? random.pick(['utf8', 'utf8', 'utf16le', 'utf16be']) : dialect.encoding;
    const bom = isAuto && (encoding !== 'utf8' || random.once(3));
    const file = { ...dialect, columns, encoding, maxRecordBytes };
    const mine = good.slice(borders[at - 1] ?? 0, borders[at]);
    // A delimiter is detected by what most records agree on.
    const badOnes =
      isRejecting && !(dialect.isDetected && mine.length < 20)
        ? random.some(0, 3, () => randomBadRecord(random, file))
        : [];
    const records = [...mine];
    for (const bad of badOnes) records.splice(random.between(hasList ? 1 : 0, records.length), 0, bad);
    const bytes = encodeFile(random, { ...file, bom, records });
    return {
      name,
      records: records.map((one) => ({ ...one, file: name })),
      bytes: random.once(3) ? zip(random, bytes) : bytes,
    };
  });
}

function randomResult(random) {
  if (!random.once(4)) return {};
  const some = random.shuffled(ADDED).slice(0, random.between(1, ADDED.length));
  return { columns: some, onChange: some.length === ADDED.length ? 'fail' : 'ignore' };
}

function randomOutput(random, columns) {
  return {
    path: 'out/enriched.csv',
    columns: random.once(3) ? random.shuffled(columns).slice(0, random.between(1, columns.length)) : 'all',
    prefix: random.pick(['prediction_', 'prediction_', 'p']),
    lineage: random.once(3),
  };
}
