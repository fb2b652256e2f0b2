/** One iteration of the scanner's proof: random bytes through every interface of the scanner, compared with csv-parse. */
import assert from 'node:assert/strict';
import { RecordScan } from '../../../dist/src/csv/record-scan.js';
import { scanBuffer, scanRecords } from '../../../dist/src/csv/scan-records.js';
import { fieldText } from '../../../dist/src/csv/table.js';
import { randomCsv, randomCsvAround } from './csv-bytes.js';
import { verifyScan } from './verify-scan.js';

const DELIMITERS = [',', ',', ';', '\t', '|', ' ', 'a', "'"];
/** Size of the scanner's own window. Large inputs have their noise at its border. */
const WINDOW_BYTES = 256 * 1024;

/** What an iteration scans. */
export function createScannerCase(random) {
  const delimiter = random.pick(DELIMITERS);
  const fields = random.between(1, 5);
  const isLarge = random.once(400);
  const bytes = isLarge
    ? randomCsvAround(random, delimiter, fields, WINDOW_BYTES)
    : randomCsv(random, delimiter, fields);
  const limits = isLarge ? [1000, 50_000, 1_000_000] : [random.between(1, 30), 300, 100_000, 100_000];
  const grammar = {
    delimiter,
    fields,
    maxRecordBytes: random.pick(limits),
    base: random.pick([0, 0, 17]),
    firstRecord: random.pick([1, 1, 40]),
    firstLine: random.pick([1, 2]),
    transcoded: random.once(5),
  };
  return { bytes, grammar, isLarge };
}

/** @returns how many records were found. */
export async function runScannerIteration({ bytes, grammar, isLarge }, random) {
  const found = await foundBy(grammar, (options) => scanRecords(cutAnywhere(random, bytes), options));
  verifyScan(bytes, grammar, found);
  assert.deepEqual(await foundBy(grammar, (options) => scanBuffer(bytes, options)), found);
  for (const size of isLarge ? [5000] : windowSizes(random, bytes.length)) {
    const pieces = cutAnywhere(random, bytes);
    const again = await foundBy(grammar, (options) => scanIn(pieces, size, options));
    assert.deepEqual(again, found, `windows of ${size} bytes`);
  }
  return found.length;
}

/** For a short input, now and then every possible window, so that no border is left out. */
function windowSizes(random, length) {
  if (length < 80 && random.once(100)) return Array.from({ length: length + 1 }, (_, size) => size + 1);
  return [random.between(1, 30), random.between(1, length + 1)];
}

/** The bytes in pieces of any length, including empty ones. */
function cutAnywhere(random, bytes) {
  const borders = random.some(0, 5, () => random.below(bytes.length + 1)).sort((a, b) => a - b);
  return [0, ...borders].map((from, at) => bytes.subarray(from, borders[at] ?? bytes.length));
}

/** Scans in windows that begin with `windowBytes` bytes, and grow where they must. */
function* scanIn(pieces, windowBytes, options) {
  const scan = new RecordScan(options, windowBytes);
  for (const piece of pieces) yield* scan.take(piece);
  yield* scan.end();
}

/** Good and bad records as plain values, in their order. */
async function foundBy(grammar, scan) {
  const found = [];
  const onBadRecord = (bad) => found.push({ ...bad, raw: Buffer.from(bad.raw).toString('latin1') });
  for await (const batch of scan({ ...grammar, file: 0, onBadRecord })) found.push(...recordsOf(batch));
  return found.sort((a, b) => a.record - b.record);
}

export function recordsOf({ bytes, base, numbers, count, fields, starts, ends }) {
  return Array.from({ length: count }, (_, r) => ({
    record: numbers[r],
    byte: base + starts[r],
    values: Array.from({ length: fields }, (__, k) => {
      const end = r * fields + k;
      return fieldText(bytes, k === 0 ? starts[r] : ends[end - 1] + 1, ends[end]);
    }),
  }));
}
