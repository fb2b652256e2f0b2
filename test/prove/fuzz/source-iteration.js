/** One iteration over a whole file: header, dialect and records of random bytes on the disk, compared with csv-parse. */
import assert from 'node:assert/strict';
import { isUtf8 } from 'node:buffer';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CsvError, parse } from 'csv-parse/sync';
import iconv from 'iconv-lite';
import { detectDialect } from '../../../dist/src/csv/detect-dialect.js';
import { detectEncoding } from '../../../dist/src/csv/detect-encoding.js';
import { quoteText } from '../../../dist/src/csv/quote-text.js';
import { SourceError } from '../../../dist/src/errors.js';
import { renameColumns } from '../../../dist/src/source/read-columns.js';
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
  const skipLines = random.once(3) ? random.between(1, 4) : 0;
  const title = skipLines > 0 ? randomCsv(random, delimiter, 1) : Buffer.alloc(0);
  const text = Buffer.concat([title, random.once(6) ? Buffer.alloc(0) : header, body]);
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
    quote: random.pick(['auto', 'auto', 'none']),
    header: random.pick(['first', 'first', 'rename', names.map((_, at) => `own ${at}`)]),
    skipLines,
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
  const encoding = detectEncoding(bytes, settings.encoding);
  const half = halfOf(bytes, encoding);
  // To skip lines, the whole file is read; otherwise its beginning, without half a character at the end.
  const whole = Buffer.concat([decode(bytes, encoding), settings.skipLines > 0 ? half : Buffer.alloc(0)]);
  const skippedBytes = endOfLines(whole, settings.skipLines);
  if (settings.skipLines > 0 && skippedBytes >= whole.length)
    return expectCode(error, 'SOURCE_LINES_SKIPPED');
  const text = whole.subarray(skippedBytes);
  const detected = detectDialect(text, encoding, { ...settings, gzip });
  const dialect = { ...detected, ...(skippedBytes > 0 && { skippedBytes }) };
  if (error?.code === 'SOURCE_ESCAPED') {
    assert.equal(settings.quote, 'auto');
    assert.ok(text.toString('latin1').split('\\').length > 2, 'there are no two backslashes');
    return 0;
  }
  const isText = settings.quote === 'none';
  const delimiter = dialect.delimiter.charCodeAt(0);
  const decoded = isText ? quoteText(text, delimiter) : text;
  const header = headerOf(decoded, dialect, settings.header);
  if (header.code !== undefined) return expectCode(error, header.code);

  // Half a character after a header without a line end is within the quotes of its last name.
  if (isText && half.length > 0 && header.bytes === decoded.length) return 0;

  const found = [...rejected];
  if (source !== undefined) {
    assert.deepEqual(source.columns, header.columns);
    assert.deepEqual(source.files[0].dialect, dialect);
    const offset = skippedBytes + header.bytes;
    assert.equal(source.files[0].dataStart, offset);
    const from = { position: { file: 0, offset }, record: 1 };
    const records = readRecords(source, from, { maxRecordBytes, onBadRecord: () => undefined });
    for await (const batch of records) found.push(...recordsOf(batch));
    assert.equal(source.records, found.length);
    assert.equal(source.rejected, rejected.length);
  } else {
    expectCode(error, 'SOURCE_NO_RECORDS');
  }
  found.sort((a, b) => a.record - b.record);
  const textToEnd = settings.skipLines > 0 ? text : Buffer.concat([text, half]);
  const read = isText ? quoteText(textToEnd, delimiter) : textToEnd;
  verifyScan(
    read.subarray(header.bytes),
    {
      delimiter: dialect.delimiter,
      fields: header.columns.length,
      maxRecordBytes,
      base: skippedBytes + header.bytes,
      firstLine:
        1 + lineFeeds(whole.subarray(0, skippedBytes)) + lineFeeds(decoded.subarray(0, header.bytes)),
      transcoded: dialect.encoding !== 'utf8',
    },
    isText ? found.map((one) => asRead(one, read, { skippedBytes, delimiter, maxRecordBytes })) : found,
  );
  if (isText) verifyTexts(textToEnd, { dialect, settings }, found);

  const strict = await outcomeOf(scanSource({ ...options, maxRejected: { records: 0 } }));
  if (rejected.length === 0) assert.equal(strict.error?.code, error?.code);
  else {
    const { code, record, line, byte } = rejected[0];
    expectCode(strict.error, code);
    const { file, ...place } = strict.error.facts;
    assert.deepEqual(
      { file, record: place.record, line: place.line, byte: place.byte },
      { file: path, record, line, byte },
    );
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

/** Where the first `count` lines end: each with LF, CRLF or CR. */
function endOfLines(text, count) {
  const ends = [...text.toString('latin1').matchAll(/\r\n|\r|\n/g)];
  if (count === 0) return 0;
  const last = ends[count - 1];
  return last === undefined ? text.length : last.index + last[0].length;
}

function lineFeeds(bytes) {
  return bytes.filter((byte) => byte === 0x0a).length;
}

/** A rejected record as the scanner has read it: with its quotes doubled. One that is cut off may end between two. */
function asRead(one, decoded, { skippedBytes, delimiter, maxRecordBytes }) {
  if (one.raw === undefined) return one;
  if (one.code !== 'SOURCE_RECORD_TOO_LARGE') {
    return { ...one, raw: quoteText(Buffer.from(one.raw, 'latin1'), delimiter).toString('latin1') };
  }
  const start = one.byte - skippedBytes;
  const raw = decoded.subarray(start, start + maxRecordBytes).toString('latin1');
  return { ...one, raw };
}

/** Where quotes are text, compares every record with csv-parse, which gets that setting: its values, or their number. */
function verifyTexts(text, { dialect, settings }, found) {
  const options = { quote: false, delimiter: dialect.delimiter, record_delimiter: ['\r\n', '\n'] };
  const records = parse(text, {
    ...options,
    encoding: 'latin1',
    skip_empty_lines: true,
    relax_column_count: true,
  });
  const own = Array.isArray(settings.header) ? records : records.slice(1);
  assert.equal(found.length, own.length);
  for (const [at, one] of found.entries()) {
    if (one.code === 'SOURCE_FIELD_COUNT') {
      assert.ok(one.message.startsWith(`the number of fields is ${own[at].length}, not`), one.message);
    } else if (one.code === undefined) {
      assert.deepEqual(
        one.values,
        own[at].map((value) => Buffer.from(value, 'latin1').toString()),
      );
    }
  }
}

/** By csv-parse: the columns and where the records begin, or the code with which the file is refused. */
function headerOf(decoded, dialect, option) {
  if (option === 'first') return readHeader(decoded, dialect);
  if (option === 'rename') {
    const header = readHeader(decoded, dialect);
    return { ...header, columns: header.columns && renameColumns(header.columns) };
  }
  // A CR without anything before it is not compared with the columns: the scan names it as a bad record.
  if (/^(?:\r?\n)*\r$/.test(decoded.toString('latin1'))) return { columns: option, bytes: 0 };
  const first = readHeader(decoded, { ...dialect, encoding: 'utf8' });
  const fits = first.columns?.length === option.length;
  if (first.code === 'SOURCE_LINE_ENDS' && !(fits && option.length > 1)) return first;
  if (first.code === undefined && !fits) return { code: 'SOURCE_HEADER_COUNT' };
  return { columns: option, bytes: 0 };
}

function readHeader(decoded, { delimiter, encoding }) {
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
    return { code: 'SOURCE_LINE_ENDS', columns };
  }
  const isLost = encoding !== 'utf8' && columns.some((column) => column.includes('\u{fffd}'));
  return isLost ? { code: 'SOURCE_ENCODING' } : { columns, bytes };
}
