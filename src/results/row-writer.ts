/** Writes a chunk's records with their answers as rows of the output: from bytes to bytes. */
import type { ChunkCounts } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { COMMA, LF } from '../csv/bytes.js';
import { type AnswerPart, type RowsExports, RowsKernel } from '../csv/kernel/rows-kernel.js';
import type { TableMemory } from '../csv/kernel/table-memory.js';
import { fieldValue } from '../csv/table.js';
import { writeValue } from '../csv/write-field.js';
import type { RecordBlock } from '../source/record-block.js';
import type { UnprocessedCause } from '../types.js';
import type { AnswerSource, Answers } from './answers.js';
import type { OutputLayout } from './output-layout.js';
import type { PartTable } from './part-table.js';

export interface ChunkRows {
  readonly bytes: Buffer;
  readonly counts: ChunkCounts;
}

/** Options that are the same for all rows of a run. */
export interface RowOptions {
  readonly run: string;
  readonly layout: OutputLayout;
  /** Columns that the service adds, in output order. */
  readonly columns: readonly string[];
  /** Names of the uploaded file's columns, the key's included. */
  readonly sentColumns: ReadonlySet<string>;
}

export interface RowWriter {
  /** Rows of a chunk in which every record has an answer. */
  enriched(records: RecordBlock, answers: Answers): ChunkRows;
  /** Rows of a chunk that the service refused: every record is FAILED, with the service's reason. */
  refused(records: RecordBlock, refusal: string): ChunkRows;
  /** Rows of a chunk that was given up: every record is UNPROCESSED, with the cause. */
  unprocessed(records: RecordBlock, cause: UnprocessedCause, folio: string | null): ChunkRows;
}

/** @param tables shared with the comparison of the same chunk's echoes, so that they are loaded once. */
export function createRowWriter(options: RowOptions, tables?: TableMemory<RowsExports>): RowWriter {
  const { layout, columns, sentColumns, run } = options;
  // Reused for all chunks: they grow to the size of the largest.
  const out = new ByteWriter(64 * 1024);
  const kernel = new RowsKernel(
    { chosen: layout.sourceFields, delimiter: layout.delimiter, numbered: layout.lineage },
    tables,
  );
  const endRow = (folio: string | null, part: number | null, record: number) => {
    if (layout.lineage) writeLineage(out, run, folio, part, record);
    out.byte(LF);
  };
  /** Rows that have the same text after the record's fields, except for the record's number. */
  const equalRows = (records: RecordBlock, lead: Buffer, folio: string | null): Buffer => {
    const tail = layout.lineage ? lineageHead(run, folio, null) : NOTHING;
    const none = new Int32Array(records.count);
    const order = { part: none, result: none, numbers: records.numbers };
    return kernel.write(records, [{ ...NO_RESULTS, lead, tail }], order, () => NOTHING);
  };

  return {
    enriched: (records, { sources, source, result, indistinct }) => {
      const reasons = sources.map((one) => reasonFields(one, columns, sentColumns));
      const parts = sources.map((one, at) =>
        answerPart(one, columns, reasons[at]!, layout.lineage ? run : null),
      );
      const bytes = kernel.write(records, parts, { part: source, result, numbers: records.numbers }, (i) => {
        const { table, folio, part } = sources[source[i]!]!;
        writeFailure(out, table, result[i]!, reasons[source[i]!]!, columns.length);
        endRow(folio, part, records.numbers[i]!);
        return out.take();
      });
      const isFailed = sources.map(({ table }) => !isSuccessful(table));
      const failed = source.reduce((count, at) => (isFailed[at] ? count + 1 : count), 0);
      return {
        bytes,
        counts: { successful: records.count - failed, failed, unprocessed: 0, indistinct: indistinct.size },
      };
    },
    refused: (records, refusal) => {
      out.ascii(',FAILED,RECORD_REFUSED,');
      writeValue(out, refusal);
      out.ascii(','.repeat(columns.length));
      const counts = { successful: 0, failed: records.count, unprocessed: 0, indistinct: 0 };
      return { bytes: equalRows(records, out.take(), null), counts };
    },
    unprocessed: (records, cause, folio) => {
      const answer = `,UNPROCESSED,${cause},${causeTexts[cause]}${','.repeat(columns.length)}`;
      const counts = { successful: 0, failed: 0, unprocessed: records.count, indistinct: 0 };
      return { bytes: equalRows(records, Buffer.from(answer), folio), counts };
    },
  };
}

const causeTexts: Readonly<Record<UnprocessedCause, string>> = {
  AMBIGUOUS_HELD: 'the upload may or may not have been accepted and was not sent again',
  FOLIO_LOST: 'the service no longer knows the folio of this record',
  DEADLINE: 'the deadline was reached before the service was done',
};

const NOTHING = new Uint8Array(0);
const NO_OFFSETS = new Int32Array(0);
/** A part that adds no answers to a row. */
const NO_RESULTS = { bytes: NOTHING, count: 0, fields: 0, starts: NO_OFFSETS, ends: NO_OFFSETS, answers: [] };

function isSuccessful({ reference }: PartTable): boolean {
  return reference.fileStatus === 'SUCCESSFUL';
}

/**
 * A part as the kernel takes it: rows of a successful part get its columns, rows of a failed part get its reason. If
 * the reason consists of several columns, `writeFailure` ends the rows.
 */
function answerPart(
  { table, folio, part }: AnswerSource,
  columns: readonly string[],
  reasons: readonly number[],
  lineageRun: string | null,
): AnswerPart {
  const { bytes, count, fields, starts, ends } = table;
  const lineage = lineageRun === null ? NOTHING : lineageHead(lineageRun, folio, part);
  const own = { bytes, count, fields, starts, ends };
  if (isSuccessful(table)) {
    const answers = columns.map((column) => table.columns.indexOf(column));
    return { ...own, answers, lead: successLead, tail: lineage };
  }
  const tail = Buffer.concat([Buffer.from(','.repeat(columns.length)), lineage]);
  return { ...own, answers: reasons.length === 1 ? reasons : null, lead: failureLead, tail };
}

/** Status, error code and error, before the added columns. */
const successLead = Buffer.from(',SUCCESSFUL,,');
/** Status and error code, before the error's text. */
const FAILURE = ',FAILED,SERVICE_FAILED';
const failureLead = Buffer.from(FAILURE);

/**
 * Indexes of the fields that say why the records of a part failed: the columns that only a failed part has. Without such
 * columns, the reason is in the added columns. With only sent columns, it is in the ones that are not echoes.
 */
function reasonFields(
  { table, answered }: AnswerSource,
  columns: readonly string[],
  sentColumns: ReadonlySet<string>,
): readonly number[] {
  const fields = table.columns.map((_, field) => field);
  const answers = fields.filter((field) => !sentColumns.has(table.columns[field]!));
  const own = answers.filter((field) => !columns.includes(table.columns[field]!));
  if (own.length > 0) return own;
  return answers.length > 0 ? answers : fields.filter((field) => answered.includes(table.columns[field]!));
}

/** Writes several reason fields as the error's text: `name: value; ...`, without empty fields. */
function writeFailure(
  out: ByteWriter,
  part: PartTable,
  result: number,
  reasons: readonly number[],
  added: number,
): void {
  const values = reasons.flatMap((field) => {
    const value = fieldValue(part, result, field);
    return value === '' ? [] : [`${part.columns[field]}: ${value}`];
  });
  out.ascii(`${FAILURE},`);
  writeValue(out, values.join('; '));
  out.ascii(','.repeat(added));
}

function writeLineage(
  out: ByteWriter,
  run: string,
  folio: string | null,
  part: number | null,
  record: number,
): void {
  writeLineageHead(out, run, folio, part);
  out.number(record);
}

/** The lineage columns up to the record's number. */
function lineageHead(run: string, folio: string | null, part: number | null): Uint8Array {
  const out = new ByteWriter(128);
  writeLineageHead(out, run, folio, part);
  return out.take();
}

function writeLineageHead(out: ByteWriter, run: string, folio: string | null, part: number | null): void {
  out.byte(COMMA);
  out.ascii(run);
  out.byte(COMMA);
  writeValue(out, folio ?? '');
  out.byte(COMMA);
  if (part !== null) out.number(part);
  out.byte(COMMA);
}
