/** Writes records with their answers as rows of the output: from bytes to bytes. */
import type { FailureReason, RowCounts } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { COMMA, LF } from '../csv/bytes.js';
import type { AnswerPart } from '../csv/kernel/rows-by-field.js';
import { type RowsExports, RowsKernel } from '../csv/kernel/rows-kernel.js';
import type { TableMemory } from '../csv/kernel/table-memory.js';
import { fieldValue, isEqualField } from '../csv/table.js';
import { writeValue } from '../csv/write-field.js';
import type { RecordBlock } from '../source/record-block.js';
import { type Answers, type FixedSource, isSkipped, type Lineage, type ResultSource } from './answers.js';
import type { OutputLayout } from './output-layout.js';
import type { PartTable } from './part-table.js';
import { countAnswers, countReasons } from './row-counts.js';

interface WrittenRows {
  readonly bytes: Buffer;
  readonly counts: RowCounts;
  /** Why some of them have no prediction; left out if all have one. */
  readonly reasons?: readonly FailureReason[];
}

/** Options that are the same for all rows of a run. */
interface RowOptions {
  /** Changes a failure's text for the counted reasons. The row has the unchanged text. */
  readonly showReason?: (text: string) => string;
  readonly run: string;
  readonly layout: OutputLayout;
  /** Columns that the service adds, in output order. */
  readonly columns: readonly string[];
  /** Names of the uploaded file's columns, including the key's. */
  readonly sentColumns: ReadonlySet<string>;
}

export interface RowWriter {
  /**
   * Writes a row for each record, with its answer.
   * @param answers joined results must have exactly the columns of the output, see `splitColumns`.
   */
  write(records: RecordBlock, answers: Answers): WrittenRows;
}

/** @param tables shared with the comparison of the same chunk's echoes, so that they are loaded once. */
export function createRowWriter(options: RowOptions, tables?: TableMemory<RowsExports>): RowWriter {
  const { layout, columns, sentColumns, run, showReason = (text: string) => text } = options;
  /** Writes failures with several reasons, which are rare. Reused for all chunks. */
  let out: ByteWriter | undefined;
  // Made once: each small Buffer that is kept holds a block of memory, which it shares with many others.
  const commas = Buffer.from(','.repeat(columns.length));
  const kernel = new RowsKernel(
    { chosen: layout.sourceFields, delimiter: layout.delimiter, numbered: layout.lineage },
    tables,
  );

  return {
    write: (records, answers) => {
      const { sources, source, result } = answers;
      const reasons = reasonsOf(sources, columns, sentColumns);
      const lineages = sources.map((one) => {
        if (!layout.lineage) return NO_LINEAGE;
        // Nothing was paid for a blank record: its cells are empty, and so is its number.
        return lineageOf(one, isSkipped(one) ? '' : run);
      });
      const parts = sources.map((one, at) =>
        one.origin === 'fixed'
          ? fixedPart(one, columns, lineages[at]!)
          : answerPart(one, columns, reasons[at]!, lineages[at]!, commas),
      );
      const numbers = layout.lineage ? paidNumbers(records, answers) : records.numbers;
      const bytes = kernel.write(records, parts, { part: source, result, numbers }, (i) => {
        const at = source[i]!;
        const { table } = sources[at] as ResultSource;
        out ??= new ByteWriter(64 * 1024);
        writeFailure(out, table, result[i]!, reasons[at]!, columns.length);
        if (layout.lineage) {
          const { head, end } = lineages[at]!;
          out.copy(head, 0, head.length);
          out.number(numbers[i]!);
          out.copy(end, 0, end.length);
        }
        out.byte(LF);
        return out.take();
      });
      const why = countReasons(answers, records.count, createFailureTexts(answers, reasons), showReason);
      return { bytes, counts: countAnswers(answers, records.count), ...(why.length > 0 && { reasons: why }) };
    },
  };
}

/** @returns a function that gives the error's text of a failed record, as its row has it. */
export function failureTexts(
  answers: Answers,
  { columns, sentColumns }: Pick<RowOptions, 'columns' | 'sentColumns'>,
): (record: number) => string {
  return createFailureTexts(answers, reasonsOf(answers.sources, columns, sentColumns));
}

const NOTHING = new Uint8Array(0);
const NO_OFFSETS = new Int32Array(0);
/** A part that adds no answers to a row. */
const NO_RESULTS = { bytes: NOTHING, count: 0, fields: 0, starts: NO_OFFSETS, ends: NO_OFFSETS, answers: [] };

/**
 * A part as the kernel takes it: rows of a successful part get its columns, rows of a failed part get its reason. If
 * the reason consists of several columns, `writeFailure` ends the rows.
 * @param commas one for each column.
 */
function answerPart(
  { table }: ResultSource,
  columns: readonly string[],
  reasons: readonly number[],
  { head, end }: RowLineage,
  commas: Buffer,
): AnswerPart {
  const isSuccessful = table.reference.fileStatus === 'SUCCESSFUL';
  const { bytes, count, fields, starts, ends, isJoined: isWritten = false } = table;
  const own = { bytes, count, fields, starts, ends, end, isWritten };
  if (isSuccessful) {
    const joined = columns.length === 0 ? [] : [0];
    const answers = isWritten ? joined : columns.map((column) => table.columns.indexOf(column));
    return { ...own, answers, lead: successLead, tail: head };
  }
  const tail = head.length === 0 ? commas : Buffer.concat([commas, head]);
  return { ...own, answers: reasons.length === 1 ? reasons : null, lead: failureLead, tail };
}

/** A part whose rows all have the same text after the record's own fields. */
function fixedPart(
  { status, code, reason }: FixedSource,
  columns: readonly string[],
  { head, end }: RowLineage,
): AnswerPart {
  const lead = new ByteWriter(128);
  lead.ascii(`,${status},${code},`);
  writeValue(lead, reason);
  lead.ascii(','.repeat(columns.length));
  return { ...NO_RESULTS, lead: lead.take(), tail: head, end };
}

/** Status, error code and error, before the added columns. */
const successLead = Buffer.from(',SUCCESSFUL,,');
/** Status and error code, before the error's text. */
const FAILURE = ',FAILED,SERVICE_FAILED';
const failureLead = Buffer.from(FAILURE);

/** The result of `reasonFields` for each source. */
function reasonsOf(
  sources: Answers['sources'],
  columns: readonly string[],
  sentColumns: ReadonlySet<string>,
): readonly (readonly number[])[] {
  return sources.map((one) => (one.origin === 'fixed' ? [] : reasonFields(one, columns, sentColumns)));
}

/**
 * Indexes of the fields that say why the records of a part failed: the columns that only a failed part has. Without such
 * columns, the reason is in the added columns. With only sent columns, it is in the ones that are not echoes.
 */
function reasonFields(
  { table, answered }: ResultSource,
  columns: readonly string[],
  sentColumns: ReadonlySet<string>,
): readonly number[] {
  const fields = table.columns.map((_, field) => field);
  const answers = fields.filter((field) => !sentColumns.has(table.columns[field]!));
  const own = answers.filter((field) => !columns.includes(table.columns[field]!));
  if (own.length > 0) return own;
  return answers.length > 0 ? answers : fields.filter((field) => answered.includes(table.columns[field]!));
}

function writeFailure(
  out: ByteWriter,
  part: PartTable,
  result: number,
  reasons: readonly number[],
  added: number,
): void {
  out.ascii(`${FAILURE},`);
  writeValue(out, failureText(part, result, reasons));
  out.ascii(','.repeat(added));
}

/**
 * @param reasons see `reasonsOf`.
 * @returns see `failureTexts`. Keeps the last text, because most results have the bytes of the one before.
 */
function createFailureTexts(
  { sources, source, result: results }: Answers,
  reasons: readonly (readonly number[])[],
): (record: number) => string {
  let last = { at: -1, result: 0, text: '' };
  return (record) => {
    const at = source[record]!;
    const result = results[record]!;
    const one = sources[at]!;
    if (one.origin === 'fixed') return one.reason;
    const fields = reasons[at]!;
    let isSame = at === last.at;
    for (const field of fields) isSame &&= isEqualField(one.table, field, last.result, result);
    if (!isSame) last = { at, result, text: failureText(one.table, result, fields) };
    return last.text;
  };
}

/** The error's text: the only reason field, or several of them as `name: value; ...`, without empty fields. */
function failureText(part: PartTable, result: number, reasons: readonly number[]): string {
  if (reasons.length === 1) return fieldValue(part, result, reasons[0]!);
  const values = reasons.flatMap((field) => {
    const value = fieldValue(part, result, field);
    return value === '' ? [] : [`${part.columns[field]}: ${value}`];
  });
  return values.join('; ');
}

/** The lineage columns of a row: what precedes the record's number, and what follows it. */
interface RowLineage {
  readonly head: Uint8Array;
  readonly end: Uint8Array;
}

const NO_LINEAGE: RowLineage = { head: NOTHING, end: NOTHING };

function lineageOf({ run, folio, part, answeredAt }: Lineage, thisRun: string): RowLineage {
  const out = new ByteWriter(128);
  out.byte(COMMA);
  writeValue(out, run ?? thisRun);
  out.byte(COMMA);
  writeValue(out, folio ?? '');
  out.byte(COMMA);
  if (part !== null) out.number(part);
  out.byte(COMMA);
  const time = answeredAt === null ? '' : new Date(answeredAt).toISOString();
  return { head: out.take(), end: Buffer.from(`,${time}`) };
}

/** For each record, the number of the record that was paid for; 0 if there is none. */
function paidNumbers(
  { numbers, count }: RecordBlock,
  { sources, source, result, firsts }: Answers,
): Int32Array {
  const byResult = sources.map((one) => {
    if (one.origin === 'fixed') return isSkipped(one) ? NOTHING_PAID : null;
    return one.records;
  });
  if (firsts === undefined && byResult.every((list) => list === null)) return numbers;
  const paid = numbers.slice(0, count);
  for (let i = 0; i < count; i++) {
    const list = byResult[source[i]!];
    if (list != null) paid[i] = list[result[i]!]!;
    else if (firsts !== undefined && firsts[i] !== 0) paid[i] = firsts[i]!;
  }
  return paid;
}

/** The list for a fixed source: all its records have result 0. */
const NOTHING_PAID = Int32Array.of(0);
