/** The text of answers as a segment holds them: the fields of a row of the output without the source's columns. */
import { COMMA } from '../csv/bytes.js';
import type { RowsExports } from '../csv/kernel/rows-kernel.js';
import { TableMemory } from '../csv/kernel/table-memory.js';
import { scanBuffer } from '../csv/scan-records.js';
import { fieldEnd, fieldStart, type Table } from '../csv/table.js';
import type { Answers } from '../results/answers.js';
import { createRowWriter, type RowWriter } from '../results/row-writer.js';
import { giveBack } from '../streams/large-buffers.js';

/** Fields of a row before the added columns: the empty one of the source, status, error code, error. */
const LEADING_FIELDS = 4;
const ERROR_FIELD = 3;

interface AnswerTexts {
  /**
   * Writes the answers of `count` records. Calls `take` with slices of them, in order: `from` is the index of the first
   * record of the slice, and the rows are valid during the call.
   */
  write(answers: Answers, count: number, take: (rows: Table, from: number) => void): void;
  /** Frees the memory. After this call it must not be used. */
  release(): void;
}

interface AnswerTextOptions {
  readonly run: string;
  /** The columns that the service added. */
  readonly columns: readonly string[];
  /** Names of the uploaded file's columns, the key's included. */
  readonly uploadColumns: ReadonlySet<string>;
}

export function createAnswerTexts({ run, columns, uploadColumns }: AnswerTextOptions): AnswerTexts {
  const layout = { sourceFields: [], delimiter: COMMA, sourceColumns: [], prefix: '', lineage: false };
  const tables = new TableMemory<RowsExports>();
  /** The places of records without any content, so that the writer writes only their answers. */
  let nowhere = new Int32Array(0);
  const rowWriter: RowWriter = createRowWriter({ run, layout, columns, sentColumns: uploadColumns }, tables);
  return {
    write: (answers, count, take) => {
      if (nowhere.length < count) nowhere = new Int32Array(count);
      const places = { starts: nowhere, ends: nowhere, numbers: nowhere };
      // A new array of bytes each time: it identifies the table.
      const records = { bytes: new Uint8Array(0), count, fields: 1, ...places };
      const { bytes } = rowWriter.write(records, answers);
      const options = {
        delimiter: ',',
        fields: LEADING_FIELDS + columns.length,
        maxRecordBytes: bytes.length,
        file: 0,
        base: 0,
        firstRecord: 1,
        onBadRecord: () => {
          throw new Error('the row writer has written a row that cannot be read');
        },
      };
      let from = 0;
      for (const batch of scanBuffer(bytes, options)) {
        take(batch, from);
        from += batch.count;
      }
      giveBack(bytes);
    },
    release: () => tables.release(),
  };
}

/** Where the text of an answer begins. */
export function textStart(rows: Table, row: number, isFailed: boolean): number {
  return fieldStart(rows, row, isFailed || rows.fields === LEADING_FIELDS ? ERROR_FIELD : LEADING_FIELDS);
}

/** Where the text of an answer ends. */
export function textEnd(rows: Table, row: number, isFailed: boolean): number {
  return fieldEnd(rows, row, isFailed ? ERROR_FIELD : rows.fields - 1);
}
