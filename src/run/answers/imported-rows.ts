/** Turns rows of a file of answers into answers as a segment takes them. */
import { UploadKernel } from '../../csv/kernel/upload-kernel.js';
import { type Batch, fieldEnd, fieldStart, fieldValue, type Table } from '../../csv/table.js';
import type { AnswerSource, Answers, Lineage } from '../../results/answers.js';
import { type PartTable, readResults } from '../../results/part-table.js';
import { REASON_COLUMN } from '../../reuse/answer-tables.js';
import type { FileStatus } from '../../types.js';
import type { ImportLayout } from './import-layout.js';

/** How many rows have which outcome. */
export interface RowOutcomes {
  successful: number;
  failed: number;
  /** Rows that ended without an answer of the service: UNPROCESSED, refused, or without any value. */
  unanswered: number;
}

interface ImportedRows {
  /** The sent columns after the record's number, as an upload holds them. */
  readonly rows: Table;
  readonly numbers: Int32Array;
  readonly answers: Answers;
}

/** The column of the records' numbers. No column of a file has this name. */
export const NUMBER_COLUMN = '';
const MAX_BYTES = 0x7000_0000;
const NO_ANSWER: AnswerSource = {
  origin: 'fixed',
  status: 'UNPROCESSED',
  code: 'DEADLINE',
  reason: '',
  run: null,
  folio: null,
  part: null,
  answeredAt: null,
};

/**
 * @param delimiter of the file, a byte.
 * @param paidAt the time of payment for rows that do not have one.
 * @param now the latest time of payment that is accepted from a row.
 * @param outcomes the rows of each batch are added to it.
 */
export function createImportedRows(
  { sent, columns, answers, status, lineage }: ImportLayout,
  delimiter: number,
  { paidAt, now }: { readonly paidAt: number; readonly now: number },
  outcomes: RowOutcomes,
): (batch: Batch) => ImportedRows {
  const copy = (fields: readonly number[]) =>
    new UploadKernel({ header: Buffer.alloc(0), hasKey: true, fields, delimiter });
  const sentKernel = copy(sent);
  const valueKernel = copy(answers);
  const reasonKernel = status === null ? undefined : copy([status.error]);

  const statusOf = (batch: Batch, row: number): FileStatus | undefined => {
    if (status === null)
      return answers.some((field) => hasValue(batch, row, field)) ? 'SUCCESSFUL' : undefined;
    const text = fieldValue(batch, row, status.status);
    if (text === 'SUCCESSFUL') return text;
    const isFailure = text === 'FAILED' && fieldValue(batch, row, status.code) === 'SERVICE_FAILED';
    return isFailure ? text : undefined;
  };

  const lineageOf = (batch: Batch, row: number): Lineage => {
    if (lineage === null) return { run: null, folio: null, part: null, answeredAt: paidAt };
    const value = (field: number) => fieldValue(batch, row, field) || null;
    const at = Date.parse(value(lineage.answered_at) ?? '');
    return {
      run: value(lineage.run),
      folio: value(lineage.folio),
      part: wholeNumber(fieldValue(batch, row, lineage.part)),
      answeredAt: Number.isNaN(at) ? paidAt : Math.min(at, now),
    };
  };

  return (batch) => {
    const { count } = batch;
    const numbers = batch.numbers.slice(0, count);
    const rows = tableOf(sentKernel, batch, 'SUCCESSFUL', sent.map(String));
    const values = tableOf(valueKernel, batch, 'SUCCESSFUL', columns);
    const reasons = reasonKernel && tableOf(reasonKernel, batch, 'FAILED', [REASON_COLUMN]);
    const records =
      lineage === null
        ? numbers
        : numbers.map((number, row) => wholeNumber(fieldValue(batch, row, lineage.record)) ?? number);
    const sources: AnswerSource[] = [NO_ANSWER];
    const indexes = new Map<string, number>();
    const source = new Int32Array(count);
    for (let row = 0; row < count; row++) {
      const found = statusOf(batch, row);
      if (found === undefined) {
        outcomes.unanswered += 1;
        continue;
      }
      if (found === 'SUCCESSFUL') outcomes.successful += 1;
      else outcomes.failed += 1;
      const lineage = lineageOf(batch, row);
      const key = `${found}\n${lineage.run}\n${lineage.folio}\n${lineage.part}\n${lineage.answeredAt}`;
      let index = indexes.get(key);
      if (index === undefined) {
        const table = found === 'SUCCESSFUL' ? values : reasons!;
        index = sources.push({ origin: 'sent', ...lineage, table, answered: [REASON_COLUMN], records }) - 1;
        indexes.set(key, index);
      }
      source[row] = index;
    }
    const result = Int32Array.from({ length: count }, (_, row) => row);
    return { rows, numbers, answers: { sources, source, result, indistinct: NONE } };
  };
}

const NONE: ReadonlySet<number> = new Set();

/** The number of a part or a record in an output; null for any other text, which foliopipe has not written. */
function wholeNumber(text: string): number | null {
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}

/** The chosen fields of all rows, after the record's number. */
function tableOf(
  kernel: UploadKernel,
  batch: Batch,
  fileStatus: FileStatus,
  columns: readonly string[],
): PartTable {
  kernel.clear();
  kernel.write(batch, 0, batch.count, true, MAX_BYTES);
  const reference = { fileStatus, part: 0, records: batch.count };
  return readResults(reference, { columns: [NUMBER_COLUMN, ...columns], bytes: 0 }, kernel.file);
}

function hasValue(batch: Batch, row: number, field: number): boolean {
  const isEmpty = fieldEnd(batch, row, field) === fieldStart(batch, row, field);
  return !isEmpty && fieldValue(batch, row, field).trim() !== '';
}
