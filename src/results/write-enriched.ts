/** Writes a chunk's records with their answers as rows of the output; bytes in, bytes out. */
import type { ChunkCounts } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { type AnswerPart, type RowsExports, RowsKernel } from '../csv/kernel/rows-kernel.js';
import type { TableMemory } from '../csv/kernel/table-memory.js';
import { fieldText, writeValue } from '../csv/write-field.js';
import type { RecordBlock } from '../source/record-block.js';
import type { UnprocessedCause } from '../types.js';
import type { AnswerSource, Answers } from './answers.js';
import type { OutputLayout } from './output-layout.js';
import { fieldStart, type PartTable } from './part-table.js';

export interface Enriched {
  readonly bytes: Buffer;
  readonly counts: ChunkCounts;
}

/** What all rows of a run have in common. */
export interface RowOptions {
  readonly run: string;
  readonly layout: OutputLayout;
  /** Columns that the service adds, in output order. */
  readonly columns: readonly string[];
  /** Names of the uploaded file's columns, the key's included. */
  readonly sentColumns: ReadonlySet<string>;
}

export interface RowWriter {
  /** Rows of a chunk whose every record has its answer. */
  enriched(records: RecordBlock, answers: Answers): Enriched;
  /** Rows of a chunk that the service will not have: every record FAILED with what it said. */
  refused(records: RecordBlock, refusal: string): Enriched;
  /** Rows of a chunk that was given up: every record UNPROCESSED with the cause. */
  unprocessed(records: RecordBlock, cause: UnprocessedCause, folio: string | null): Enriched;
}

/** @param tables shared with whoever has compared the same chunk's results. */
export function createRowWriter(options: RowOptions, tables?: TableMemory<RowsExports>): RowWriter {
  const { layout, columns, sentColumns, run } = options;
  // One of each for all chunks: they grow to the largest and stay.
  const out = new ByteWriter(64 * 1024);
  const kernel = new RowsKernel(
    { chosen: layout.sourceFields, delimiter: layout.delimiter, numbered: layout.lineage },
    tables,
  );
  const endRow = (folio: string | null, part: number | null, record: number) => {
    if (layout.lineage) writeLineage(out, run, folio, part, record);
    out.byte(lineFeed);
  };
  /** Rows that all have the same behind their own fields, but for the record's number. */
  const alike = (records: RecordBlock, lead: Buffer, folio: string | null): Buffer => {
    const tail = layout.lineage ? lineageHead(run, folio, null) : nothing;
    const none = new Int32Array(records.count);
    const order = { part: none, result: none, numbers: records.numbers };
    return kernel.write(records, [{ ...noResults, lead, tail }], order, () => nothing);
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
      const isFailed = sources.map(({ table }) => !isPlain(table));
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
      return { bytes: alike(records, out.take(), null), counts };
    },
    unprocessed: (records, cause, folio) => {
      const answer = `,UNPROCESSED,${cause},${causeTexts[cause]}${','.repeat(columns.length)}`;
      const counts = { successful: 0, failed: 0, unprocessed: records.count, indistinct: 0 };
      return { bytes: alike(records, Buffer.from(answer), folio), counts };
    },
  };
}

const lineFeed = 0x0a;
const comma = 0x2c;

const causeTexts: Readonly<Record<UnprocessedCause, string>> = {
  AMBIGUOUS_HELD: 'the upload may or may not have been accepted and was not sent again',
  FOLIO_LOST: 'the service no longer knows the folio of this record',
  DEADLINE: 'the deadline was reached before the service was done',
};

function isPlain({ reference }: PartTable): boolean {
  return reference.fileStatus === 'SUCCESSFUL';
}

/**
 * A part as the kernel takes it: rows of a successful one get its columns, rows of a failed one its reason. Where
 * several columns make up the reason, the rows are ended here.
 */
function answerPart(
  { table, folio, part }: AnswerSource,
  columns: readonly string[],
  reasons: readonly number[],
  lineageRun: string | null,
): AnswerPart {
  const { bytes, count, starts, ends } = table;
  const lineage = lineageRun === null ? nothing : lineageHead(lineageRun, folio, part);
  const own = { bytes, count, starts, ends, fields: table.columns.length };
  if (isPlain(table)) {
    const answers = columns.map((column) => table.columns.indexOf(column));
    return { ...own, answers, lead: successLead, tail: lineage };
  }
  const tail = Buffer.concat([Buffer.from(','.repeat(columns.length)), lineage]);
  return { ...own, answers: reasons.length === 1 ? reasons : null, lead: failureLead, tail };
}

const nothing = new Uint8Array(0);
const noNumbers = new Int32Array(0);
/** A part that adds nothing of its own to a row. */
const noResults = { bytes: nothing, count: 0, fields: 0, starts: noNumbers, ends: noNumbers, answers: [] };
/** Status, error and its code before the added columns, and before the error's text. */
const successLead = Buffer.from(',SUCCESSFUL,,');
const FAILURE = ',FAILED,SERVICE_FAILED';
const failureLead = Buffer.from(FAILURE);

/** The lineage but for the record's number. */
function lineageHead(run: string, folio: string | null, part: number | null): Uint8Array {
  const out = new ByteWriter(128);
  writeLineageHead(out, run, folio, part);
  return out.take();
}

/**
 * The fields that tell why the records of a part failed: what only a failed part has. One that is laid out like a
 * successful part gives its reason in the added columns, one that has only sent columns in those that are not echoes.
 */
function reasonFields(
  { table, answered }: AnswerSource,
  columns: readonly string[],
  sentColumns: ReadonlySet<string>,
): readonly number[] {
  const places = table.columns.map((_, field) => field);
  const answers = places.filter((field) => !sentColumns.has(table.columns[field]!));
  const own = answers.filter((field) => !columns.includes(table.columns[field]!));
  if (own.length > 0) return own;
  return answers.length > 0 ? answers : places.filter((field) => answered.includes(table.columns[field]!));
}

/** Several fields become the error's text as `name: value; ...`, those that are empty left out. */
function writeFailure(
  out: ByteWriter,
  part: PartTable,
  result: number,
  reasons: readonly number[],
  added: number,
): void {
  const stride = part.columns.length;
  const told = reasons.flatMap((field) => {
    const value = fieldText(part.bytes, fieldStart(part, result, field), part.ends[result * stride + field]!);
    return value === '' ? [] : [`${part.columns[field]}: ${value}`];
  });
  out.ascii(`${FAILURE},`);
  writeValue(out, told.join('; '));
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

function writeLineageHead(out: ByteWriter, run: string, folio: string | null, part: number | null): void {
  out.byte(comma);
  out.ascii(run);
  out.byte(comma);
  writeValue(out, folio ?? '');
  out.byte(comma);
  if (part !== null) out.number(part);
  out.byte(comma);
}
