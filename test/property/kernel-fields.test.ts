/** The kernels write the same bytes as `writeField` field by field. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ByteWriter } from '../../src/csv/byte-writer.js';
import { RowsKernel } from '../../src/csv/kernel/rows-kernel.js';
import { TableMemory } from '../../src/csv/kernel/table-memory.js';
import { UploadKernel } from '../../src/csv/kernel/upload-kernel.js';
import { scanBuffer } from '../../src/csv/scan-records.js';
import type { Batch } from '../../src/csv/table.js';
import { writeField } from '../../src/csv/write-field.js';
import { forTime } from '../helpers/properties/for-time.js';

const FIELDS = 4;
const BUDGET = forTime(500, 20_000);

const value = fc
  .array(fc.constantFrom('a', 'ü', ' ', ',', ';', '"', '\r', '\n', 'x'.repeat(15), 'y'.repeat(62)), {
    maxLength: 5,
  })
  .map((some) => some.join(''));
const records = fc.array(fc.tuple(value, value, value, value), { minLength: 1, maxLength: 5 });
const delimiters = fc.constantFrom(',', ';');
const fieldIndexes = fc.shuffledSubarray([0, 1, 2, 3], { minLength: 1 });

/** A raw field, quoted only where CSV requires it: a lone CR does not. */
function batchOf(rows: readonly (readonly string[])[], delimiter: string): Batch {
  const raw = (v: string) => (/["\n,;]/.test(v) ? `"${v.replaceAll('"', '""')}"` : v);
  const text = rows.map((row) => `${row.map(raw).join(delimiter)}\n`).join('');
  const options = { delimiter, fields: FIELDS, maxRecordBytes: 10_000, file: 0, base: 0, firstRecord: 1 };
  const onBadRecord = () => expect.unreachable();
  return scanBuffer(Buffer.from(text), { ...options, onBadRecord }).next().value as Batch;
}

function writeFields(
  out: ByteWriter,
  batch: Batch,
  record: number,
  fields: readonly number[],
  delimiter: string,
) {
  for (const [at, field] of fields.entries()) {
    if (at > 0) out.ascii(',');
    if (field < 0) continue;
    const end = record * FIELDS + field;
    const start = field === 0 ? batch.starts[record]! : batch.ends[end - 1]! + 1;
    writeField(out, batch.bytes, start, batch.ends[end]!, delimiter.charCodeAt(0));
  }
}

it('in an uploaded file', () => {
  fc.assert(
    fc.property(records, delimiters, fieldIndexes, (rows, delimiter, fields) => {
      const batch = batchOf(rows, delimiter);
      const header = Buffer.from('header\n');
      const kernel = new UploadKernel({ header, hasKey: true, fields, delimiter: delimiter.charCodeAt(0) });
      expect(kernel.write(batch, 0, batch.count, true, 1_000_000)).toBe(batch.count);
      const expected = new ByteWriter(16);
      expected.ascii('header\n');
      for (let record = 0; record < batch.count; record++) {
        expected.ascii(`${record + 1},`);
        writeFields(expected, batch, record, fields, delimiter);
        expected.ascii('\n');
      }
      expect(kernel.file.toString()).toBe(expected.take().toString());
    }),
    BUDGET,
  );
});

it('in rows, with WebAssembly and without', () => {
  const order = (count: number) => Int32Array.from({ length: count }, (_, at) => count - 1 - at);
  const answered = fc.shuffledSubarray([0, 1, 2, 3, -1]);
  fc.assert(
    fc.property(
      records,
      delimiters,
      fieldIndexes,
      answered,
      fc.boolean(),
      (rows, delimiter, chosen, answers, numbered) => {
        const batch = batchOf(rows, delimiter);
        // A batch is valid until the next one is asked for: its kernel may be used again.
        const own = {
          ...batch,
          bytes: Buffer.from(batch.bytes),
          starts: batch.starts.slice(),
          ends: batch.ends.slice(),
        };
        const results = batchOf(rows, ',');
        const lead = Buffer.from(',lead');
        const tail = Buffer.from(',tail');
        const layout = { chosen, delimiter: delimiter.charCodeAt(0), numbered };
        const result = order(own.count);
        // Every other answer is written by the caller.
        const part = Int32Array.from({ length: own.count }, (_, at) => at % 2);
        const numbers = Int32Array.from({ length: own.count }, (_, at) => at + 7);
        const plain = { ...results, answers, lead, tail, end: Buffer.from(numbered ? ';end' : '') };
        const parts = [plain, { ...plain, answers: null }];
        const other = (record: number) => Buffer.from(`,other ${record}\n`);
        const expected = new ByteWriter(16);
        for (let record = 0; record < own.count; record++) {
          writeFields(expected, own, record, chosen, delimiter);
          if (record % 2 === 1) {
            expected.ascii(`,other ${record}\n`);
            continue;
          }
          expected.ascii(answers.length > 0 ? ',lead,' : ',lead');
          writeFields(expected, results, result[record]!, answers, ',');
          expected.ascii(numbered ? `,tail${record + 7};end\n` : ',tail\n');
        }
        const text = expected.take().toString();
        const orders = { part, result, numbers };
        expect(new RowsKernel(layout).write(own, parts, orders, other).toString()).toBe(text);
        expect(new RowsKernel(layout, new TableMemory(0)).write(own, parts, orders, other).toString()).toBe(
          text,
        );
      },
    ),
    BUDGET,
  );
});
