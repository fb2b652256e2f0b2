/**
 * The whole path of the bytes without network and disk: a source is cut into chunks, another program's CSV reader and
 * writer answers them, and the output holds every record at its old position with its own prediction.
 */
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scanRecords } from '../../src/csv/scan-records.js';
import { answersFromJoin } from '../../src/results/answers.js';
import { compareEchoes } from '../../src/results/compare-echoes.js';
import { joinResults } from '../../src/results/join-results.js';
import { createOutputLayout, outputHeader } from '../../src/results/output-layout.js';
import { type PartTable, readPartTable } from '../../src/results/part-table.js';
import { createRowWriter } from '../../src/results/row-writer.js';
import { createBlockReader } from '../../src/source/record-block.js';
import { type CutChunk, createUploadLayout, cutChunks } from '../../src/stages/chunk/cut-chunks.js';
import type { JoinMethod } from '../../src/types.js';
import { scramble, shuffled, value, writeCsvRecord } from '../helpers/csv/generated-csv.js';
import { forTime } from '../helpers/properties/for-time.js';

const strict = { record_delimiter: ['\r\n', '\n'], skip_empty_lines: true };
const sourceColumns = ['title', 'city', 'note'];
const uploadColumns = { name: 'title', town: 'city' };

const setup = fc.record({
  // Few different values: equal records are common.
  records: fc.uniqueArray(value, { minLength: 1, maxLength: 6 }).chain((pool) =>
    fc.array(fc.tuple(fc.constantFrom(...pool), fc.constantFrom(...pool), value, fc.boolean()), {
      minLength: 1,
      maxLength: 20,
    }),
  ),
  delimiter: fc.constantFrom(',', ';'),
  newline: fc.constantFrom('\n', '\r\n'),
  keyColumn: fc.constantFrom('id', null),
  givesKeyBack: fc.boolean(),
  kept: fc.constantFrom<'all' | string[]>('all', ['note', 'title']),
  maxRecords: fc.integer({ min: 1, max: 9 }),
  maxBytes: fc.integer({ min: 150, max: 400 }),
  partSize: fc.integer({ min: 1, max: 5 }),
  seed: fc.nat(),
});

/** The answer for a name and a town: a failure, or a code and a title full of characters that must be quoted. */
function predict(name: string, town: string) {
  const mixed = [...`${name}|${town}`].reduce((sum, char) => scramble(sum, char.codePointAt(0)!), 7);
  if (mixed % 4 === 0) return { reason: `no "${name}", in\n${town}` };
  return { code: String(mixed % 1000), title: `${town}, "${name}"\r\n` };
}

/** Another program's answer to an uploaded file: shuffled, quoted differently, divided into parts. */
function answer(file: string, withKey: boolean, partSize: number, seed: number): PartTable[] {
  const rows = parse(file, { ...strict, columns: true }) as Record<string, string>[];
  const echo = withKey ? ['id', 'name', 'town'] : ['town', 'name'];
  const results = shuffled(rows, seed).map((row) => ({ row, said: predict(row.name!, row.town!) }));
  const partsOf = (fileStatus: 'SUCCESSFUL' | 'FAILED', added: string[]) => {
    const columns = shuffled([...echo, ...added], seed);
    const mine = results.filter(({ said }) => 'reason' in said === (fileStatus === 'FAILED'));
    return Array.from({ length: Math.ceil(mine.length / partSize) }, (_, part) => {
      const lines = mine.slice(part * partSize, (part + 1) * partSize).map(({ row, said }) => {
        const cells = { ...row, ...said } as Record<string, string>;
        return columns.map((column) => cells[column]!);
      });
      const text = [columns, ...lines].map((cells, n) =>
        writeCsvRecord(
          cells,
          ',',
          (k) => scramble(seed, 5 * n + k) % 2 === 0,
          seed % 2 === 0 ? '\n' : '\r\n',
        ),
      );
      return readPartTable({ fileStatus, part }, Buffer.from(text.join('')));
    });
  };
  return [...partsOf('SUCCESSFUL', ['code', 'title']), ...partsOf('FAILED', ['reason'])];
}

it('every record comes out at its old position with its own prediction', async () => {
  await fc.assert(
    fc.asyncProperty(setup, async (given) => {
      const { records, delimiter, newline, keyColumn, kept, partSize, seed } = given;
      const source = { columns: sourceColumns, files: [{ dialect: { delimiter } }] };
      const lines = records.map(([title, city, note, isBad], r) =>
        isBad && r > 0
          ? `rejected${newline}`
          : writeCsvRecord(
              [title, city, note],
              delimiter,
              (k) => scramble(seed, 3 * r + k) % 3 === 0,
              newline,
            ),
      );
      const scan = () =>
        scanRecords([Buffer.from(lines.join(''))], {
          delimiter,
          fields: sourceColumns.length,
          maxRecordBytes: 10_000,
          file: 0,
          base: 0,
          firstRecord: 1,
          onBadRecord: () => undefined,
        });

      const uploads: { chunk: CutChunk['chunk']; file: string }[] = [];
      const upload = { columns: uploadColumns, keyColumn };
      for await (const { chunk, content } of cutChunks(scan(), createUploadLayout(source, upload), given)) {
        uploads.push({ chunk, file: Buffer.from(content).toString() });
      }

      const layout = createOutputLayout(source, { columns: kept, prefix: 'p_', lineage: true });
      const columns = ['title', 'code'];
      const sent = { key: keyColumn, columns: Object.keys(uploadColumns) };
      const sentColumns = new Set(['id', 'name', 'town']);
      const rows = createRowWriter({ run: 'R', layout, columns, sentColumns });
      let known: JoinMethod | null = null;
      const blocks = createBlockReader(scan());
      const pieces = [outputHeader(layout, columns)];
      for (const { chunk, file } of uploads) {
        const parts = answer(
          file,
          keyColumn !== null && given.givesKeyBack,
          partSize,
          seed + chunk.firstRecord,
        );
        const block = await blocks.take(chunk.records);
        const { joined, method } = joinResults(parts, block, {
          sent,
          fields: [
            { column: 'name', sourceField: 0 },
            { column: 'town', sourceField: 1 },
          ],
          method: known,
          declared: null,
          compare: compareEchoes,
        });
        known = method;
        expect(method.by).toBe(keyColumn !== null && given.givesKeyBack ? 'key' : 'echo');
        expect(joined.indistinct.size).toBe(0);
        pieces.push(
          rows.write(block, answersFromJoin(joined, { folio: `F${chunk.firstRecord}`, answeredAt: 0 })).bytes,
        );
      }

      const output = parse(Buffer.concat(pieces), { ...strict, columns: true });
      const expected = records.flatMap(([title, city, note, isBad], r) => {
        if (isBad && r > 0) return [];
        const said = predict(title, city);
        const chunk = uploads.find(({ chunk: c }) => c.firstRecord <= r + 1 && r + 1 <= c.lastRecord)!.chunk;
        return [
          {
            ...(kept === 'all' ? { title, city, note } : { note, title }),
            p_status: said.reason === undefined ? 'SUCCESSFUL' : 'FAILED',
            p_error_code: said.reason === undefined ? '' : 'SERVICE_FAILED',
            p_error: said.reason ?? '',
            p_title: said.title ?? '',
            p_code: said.code ?? '',
            p_run: 'R',
            p_folio: `F${chunk.firstRecord}`,
            p_part: expect.stringMatching(/^\d+$/),
            p_record: String(r + 1),
            p_answered_at: '1970-01-01T00:00:00.000Z',
          },
        ];
      });
      expect(output).toEqual(expected);
    }),
    forTime(1_000, 200),
  );
});
