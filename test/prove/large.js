/**
 * Chunks at the limit of `chunks.maxBytes`: cut, answered by a part that is as large, and written as rows.
 * It takes 7 GB of memory and about a minute. After `npm run build`: node test/prove/large.js
 */
import assert from 'node:assert/strict';
import { readOptions } from '../../bench/read-options.js';
import { scanRecords } from '../../dist/src/csv/scan-records.js';
import { createOutputLayout } from '../../dist/src/results/output-layout.js';
import { readPartTable } from '../../dist/src/results/part-table.js';
import { createRowWriter } from '../../dist/src/results/row-writer.js';
import { createBlockReader } from '../../dist/src/source/record-block.js';
import { createUploadLayout, cutChunks, maxRecordBytes } from '../../dist/src/stages/chunk/cut-chunks.js';

readOptions('node test/prove/large.js', {});
const MB = 1024 * 1024;
const maxBytes = 512 * MB;
const columns = Array.from({ length: 25 }, (_, at) => `c${at}`);
// From the last column to the first, of a ; source: no field is copied together with its neighbour.
const sent = Object.fromEntries([...columns].reverse().map((column) => [`sent_${column}`, column]));
const upload = { columns: sent, keyColumn: 'id' };
const source = { columns, files: [{ dialect: { delimiter: ';' } }] };
const largest = maxRecordBytes(upload, maxBytes);
/** Two records that are one file, one that fills a file, and two whose rows the kernel can still hold. */
const sizes = [300 * MB, 200 * MB, largest, 100, 350 * MB];
const letters = 'abcde';
const small = 'x;'.repeat(columns.length - 1);

const chunks = [];
const layout = createUploadLayout(source, upload);
for await (const { chunk, content } of cutChunks(records(), layout, { maxRecords: 100, maxBytes })) {
  const read = reader(content);
  read.text(`${['id', ...Object.keys(sent)].join(',')}\n`);
  for (let record = chunk.firstRecord; record <= chunk.lastRecord; record++) {
    read.text(`${record},`);
    read.run(letters[record - 1], sizes[record - 1] - small.length);
    read.text(`${',x'.repeat(columns.length - 1)}\n`);
  }
  read.end();
  chunks.push(chunk);
  console.log(`records ${chunk.firstRecord} to ${chunk.lastRecord}: uploaded as ${chunk.bytes} bytes`);
}
assert.deepEqual(
  chunks.map((chunk) => chunk.records),
  [2, 1, 2],
);

const blocks = createBlockReader(records());
const rows = createRowWriter({
  run: 'R',
  layout: createOutputLayout(source, { columns: 'all', prefix: 'p_', lineage: true }),
  columns: ['code'],
  sentColumns: new Set(['id', ...Object.keys(sent)]),
});
for (const chunk of chunks) {
  const numbers = Array.from({ length: chunk.records }, (_, at) => chunk.firstRecord + at);
  const block = await blocks.take(chunk.records);
  const part = Buffer.concat([
    Buffer.from('id,code\n'),
    ...numbers.flatMap((record) => [
      Buffer.from(`${record},`),
      Buffer.alloc(sizes[record - 1], 'z'),
      Buffer.from('\n'),
    ]),
  ]);
  const reference = { fileStatus: 'SUCCESSFUL', part: 0, records: chunk.records };
  const { bytes } = rows.write(block, {
    sources: [{ table: readPartTable(reference, part), folio: 'F', part: 0 }],
    source: new Int32Array(chunk.records),
    result: Int32Array.from(numbers, (_, at) => at),
    indistinct: new Set(),
  });
  const read = reader(bytes);
  for (const record of numbers) {
    read.text('x,'.repeat(columns.length - 1));
    read.run(letters[record - 1], sizes[record - 1] - small.length);
    read.text(',SUCCESSFUL,,,');
    read.run('z', sizes[record - 1]);
    read.text(`,R,F,0,${record}\n`);
  }
  read.end();
  console.log(`records ${numbers.join(' and ')}: ${bytes.length} bytes of rows, all as they should be`);
}

function records() {
  return scanRecords(bytesOfSource(), {
    delimiter: ';',
    fields: columns.length,
    maxRecordBytes: largest,
    file: 0,
    base: 0,
    firstRecord: 1,
    onBadRecord: ({ record, message }) => assert.fail(`record ${record}: ${message}`),
  });
}

function* bytesOfSource() {
  for (const [at, size] of sizes.entries()) {
    yield Buffer.from(small);
    const piece = Buffer.alloc(MB, letters[at]);
    for (let left = size - small.length; left > 0; left -= MB) yield piece.subarray(0, Math.min(left, MB));
    yield Buffer.from('\n');
  }
}

/** Reads bytes, and fails at the first that is not as expected. */
function reader(given) {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.length);
  let at = 0;
  return {
    text: (text) => {
      assert.equal(bytes.toString('latin1', at, at + text.length), text);
      at += text.length;
    },
    /** The same letter `count` times: each byte equals the one before it. */
    run: (letter, count) => {
      assert.equal(String.fromCharCode(bytes[at]), letter);
      assert.ok(
        bytes.subarray(at, at + count - 1).equals(bytes.subarray(at + 1, at + count)),
        `${letter} at ${at}`,
      );
      at += count;
    },
    end: () => assert.equal(at, bytes.length),
  };
}
