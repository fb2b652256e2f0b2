/** One iteration over a whole file: header, dialect and records of random bytes on the disk, held to csv-parse. */
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CsvError, parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { detectDialect } from '../../../dist/src/csv/detect-dialect.js';
import { SourceError } from '../../../dist/src/errors.js';
import { readRecords } from '../../../dist/src/source/read-records.js';
import { scanSource } from '../../../dist/src/source/scan-source.js';
import { randomCsv } from './csv-bytes.js';
import { recordsOf } from './scanner-iteration.js';
import { verifyScan } from './verify-scan.js';

const ENCODINGS = ['utf8', 'utf8', 'utf8', 'utf16le', 'utf16be', 'latin1', 'windows-1252'];
const BOM = Buffer.from('\u{feff}');

/** A file, and the settings with which it is read. */
export function createSourceCase(random) {
  const delimiter = random.pick([',', ',', ';', '\t', '|']);
  const fields = random.between(1, 4);
  const encoding = random.pick(ENCODINGS);
  const names = Array.from({ length: fields }, (_, at) =>
    random.pick([`c${at}`, `"n ${at}"`, `"a""\n${at}"`]),
  );
  const header = Buffer.from(
    `${random.pick(['', '', '\n', '\r\n'])}${names.join(delimiter)}${random.pick(['\n', '\r\n'])}`,
  );
  const body = randomCsv(random, delimiter, fields);
  const text = random.once(6) ? body : Buffer.concat([header, body]);
  const mark = encoding.startsWith('utf') && random.once(3) ? BOM : Buffer.alloc(0);
  const encoded =
    encoding === 'utf8'
      ? Buffer.concat([mark, text])
      : iconv.encode(Buffer.concat([mark, text]).toString(), encoding, { addBOM: false });
  const bytes = encoding !== 'utf8' && random.once(8) ? encoded.subarray(0, -1) : encoded;
  const settings = {
    encoding: mark.length > 0 || encoding === 'utf8' ? random.pick(['auto', encoding]) : encoding,
    delimiter: random.pick(['auto', delimiter]),
    maxRecordBytes: random.pick([20, 1000, 1000]),
  };
  return { bytes, settings, gzip: random.once(4) };
}

/** @returns how many records were found. */
export async function runSourceIteration({ bytes, settings, gzip }, folder) {
  const path = join(folder, 'fuzzed.csv');
  await writeFile(path, gzip ? gzipSync(bytes) : bytes);
  const { maxRecordBytes } = settings;
  const rejected = [];
  const options = { ...settings, paths: [path], signal: new AbortController().signal };
  const onReject = (bad) => rejected.push({ ...bad, raw: Buffer.from(bad.raw).toString('latin1') });
  const { source, error } = await outcomeOf(scanSource({ ...options, maxRejected: { share: 1 }, onReject }));

  if (bytes.length === 0) return expectCode(error, 'SOURCE_EMPTY');
  const dialect = detectDialect(bytes, { ...settings, gzip });
  const decoded = decode(bytes, dialect);
  const header = headerOf(decoded, dialect);
  if (header.code !== undefined) return expectCode(error, header.code);

  const found = [...rejected];
  if (source !== undefined) {
    assert.deepEqual(source.columns, header.columns);
    assert.deepEqual(source.files[0].dialect, dialect);
    assert.equal(source.files[0].dataStart, header.bytes);
    const from = { position: { file: 0, offset: header.bytes }, record: 1 };
    const records = readRecords(source, from, { maxRecordBytes, onBadRecord: () => undefined });
    for await (const batch of records) found.push(...recordsOf(batch));
    assert.equal(source.records, found.length);
    assert.equal(source.rejected, rejected.length);
  } else {
    expectCode(error, 'SOURCE_NO_RECORDS');
  }
  found.sort((a, b) => a.record - b.record);
  verifyScan(
    Buffer.concat([decoded.subarray(header.bytes), halfOf(bytes, dialect)]),
    {
      delimiter: dialect.delimiter,
      fields: header.columns.length,
      maxRecordBytes,
      base: header.bytes,
      firstLine: 1 + decoded.subarray(0, header.bytes).filter((byte) => byte === 0x0a).length,
      transcoded: dialect.encoding !== 'utf8',
    },
    found,
  );

  const strict = await outcomeOf(scanSource({ ...options, maxRejected: { records: 0 } }));
  if (rejected.length === 0) assert.equal(strict.error?.code, error?.code);
  else {
    const { code, record, line, byte } = rejected[0];
    expectCode(strict.error, code);
    assert.deepEqual(strict.error.facts, { file: path, record, line, byte });
  }
  return found.length;
}

async function outcomeOf(scanning) {
  try {
    return { source: await scanning, error: undefined };
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    return { source: undefined, error };
  }
}

/** @returns 0: an iteration that ends here has found no record. */
function expectCode(error, code) {
  assert.equal(error?.code, code, error?.message);
  assert.ok(error.hint);
  return 0;
}

function decode(bytes, { encoding, bom }) {
  if (encoding === 'utf8') return bom ? bytes.subarray(BOM.length) : bytes;
  return Buffer.from(iconv.decode(bytes, encoding));
}

/** Half a character of UTF-16 at the end, which iconv-lite drops. */
function halfOf(bytes, { encoding }) {
  return encoding.startsWith('utf16') && bytes.length % 2 === 1 ? Buffer.from('\u{fffd}') : Buffer.alloc(0);
}

/** By csv-parse: the columns and where the records begin, or the code with which the file is refused. */
function headerOf(decoded, { delimiter, encoding }) {
  const options = { encoding: 'latin1', delimiter, record_delimiter: ['\r\n', '\n'], skip_empty_lines: true };
  let first;
  try {
    [first] = parse(decoded, { ...options, to: 1, info: true });
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const isOpen = error.code === 'CSV_QUOTE_NOT_CLOSED';
    return { code: isOpen ? 'SOURCE_QUOTE_NOT_CLOSED' : 'SOURCE_QUOTE_MISPLACED' };
  }
  if (first === undefined) return { code: 'SOURCE_EMPTY' };
  const { bytes } = first.info;
  if (decoded.subarray(0, bytes).includes(0)) return { code: 'SOURCE_NUL' };
  if (!isUtf8(decoded.subarray(0, bytes))) return { code: 'SOURCE_ENCODING' };
  const columns = first.record.map((column) => Buffer.from(column, 'latin1').toString());
  if (decoded[bytes - 1] !== 0x0a && columns.some((column) => column.includes('\r'))) {
    return { code: 'SOURCE_LINE_ENDS' };
  }
  for (const [at, column] of columns.entries()) {
    if (column.trim() === '') return { code: 'SOURCE_COLUMN_UNNAMED' };
    if (columns.indexOf(column) !== at) return { code: 'SOURCE_COLUMN_TWICE' };
  }
  const isLost = encoding !== 'utf8' && columns.some((column) => column.includes('\u{fffd}'));
  return isLost ? { code: 'SOURCE_ENCODING' } : { columns, bytes };
}
