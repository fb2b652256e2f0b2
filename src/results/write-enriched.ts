/** Writes a chunk's records with their answers as rows of the output; bytes in, bytes out. */
import type { ChunkCounts } from '../checkpoint/checkpoint.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { type AnswerPart, RowsKernel } from '../csv/kernel/rows-kernel.js';
import { fieldText, writeField, writeValue } from '../csv/write-field.js';
import { takeBuffer } from '../streams/buffer-pool.js';
import type { UnprocessedCause } from '../types.js';
import type { AnswerSource, Answers } from './answers.js';
import type { OutputLayout } from './output-layout.js';
import { fieldStart, type PartTable } from './part-table.js';
import type { RecordBlock } from './record-block.js';

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

export function createRowWriter(options: RowOptions): RowWriter {
  const { layout, columns, sentColumns, run } = options;
  // One of each for all chunks: they grow to the largest and stay, and each chunk takes a copy of its length.
  const out = new ByteWriter(64 * 1024);
  const kernel = new RowsKernel({
    chosen: layout.sourceFields,
    delimiter: layout.delimiter,
    lead: Buffer.from(',SUCCESSFUL,,'),
    numbered: layout.lineage,
  });
  const endRow = (folio: string | null, part: number | null, record: number) => {
    if (layout.lineage) writeLineage(out, run, folio, part, record);
    out.byte(lineFeed);
  };

  return {
    enriched: (records, { sources, source, result, indistinct }) => {
      const parts = sources.map((one) => answerPart(one, columns, layout.lineage ? run : null));
      const failures = sources.map(({ table }) => failureWriter(table, columns, sentColumns));
      let failed = 0;
      kernel.write(records, parts, { part: source, result, numbers: records.numbers }, (i) => {
        const at = source[i]!;
        const { folio, part } = sources[at]!;
        failed += 1;
        failures[at]!(out, result[i]!);
        endRow(folio, part, records.numbers[i]!);
        return out.take();
      });
      const successful = records.count - failed;
      const bytes = takeBuffer(kernel.rows.length);
      bytes.set(kernel.rows);
      return {
        bytes,
        counts: { successful, failed, unprocessed: 0, indistinct: indistinct.size },
      };
    },
    refused: (records, refusal) => {
      for (let i = 0; i < records.count; i++) {
        writeSourceFields(out, records, i, layout);
        out.ascii(',FAILED,RECORD_REFUSED,');
        writeValue(out, refusal);
        out.ascii(','.repeat(columns.length));
        endRow(null, null, records.numbers[i]!);
      }
      const counts = { successful: 0, failed: records.count, unprocessed: 0, indistinct: 0 };
      return { bytes: out.take(), counts };
    },
    unprocessed: (records, cause, folio) => {
      const answer = `,UNPROCESSED,${cause},${causeTexts[cause]}${','.repeat(columns.length)}`;
      for (let i = 0; i < records.count; i++) {
        writeSourceFields(out, records, i, layout);
        out.utf8(answer);
        endRow(folio, null, records.numbers[i]!);
      }
      const counts = { successful: 0, failed: 0, unprocessed: records.count, indistinct: 0 };
      return { bytes: out.take(), counts };
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

function writeSourceFields(out: ByteWriter, records: RecordBlock, i: number, layout: OutputLayout): void {
  const first = i * records.fields;
  const start = records.starts[i]!;
  if (layout.sourceFields === null) {
    out.copy(records.bytes, start, records.ends[first + records.fields - 1]!);
    return;
  }
  for (let at = 0; at < layout.sourceFields.length; at++) {
    const field = layout.sourceFields[at]!;
    if (at > 0) out.byte(comma);
    const from = field === 0 ? start : records.ends[first + field - 1]! + 1;
    writeField(out, records.bytes, from, records.ends[first + field]!, layout.delimiter);
  }
}

/** A successful part as the kernel takes it; the rows of any other are ended here. */
function answerPart(
  { table, folio, part }: AnswerSource,
  columns: readonly string[],
  lineageRun: string | null,
): AnswerPart {
  const isPlain = table.reference.fileStatus === 'SUCCESSFUL';
  const { bytes, count, starts, ends } = table;
  return {
    ...{ bytes, count, starts, ends },
    fields: table.columns.length,
    answers: isPlain ? columns.map((column) => table.columns.indexOf(column)) : null,
    tail: lineageRun === null ? nothing : lineageHead(lineageRun, folio, part),
  };
}

const nothing = new Uint8Array(0);

/** The lineage but for the record's number. */
function lineageHead(run: string, folio: string | null, part: number | null): Uint8Array {
  const out = new ByteWriter(128);
  writeLineageHead(out, run, folio, part);
  return out.take();
}

type FailureWriter = (out: ByteWriter, result: number) => void;

/**
 * Columns that only a failed part has become the error's text: one its value, several `name: value; ...`. A
 * failed part laid out like a successful one gives its reason in one of the added columns: those are told then.
 */
function failureWriter(
  part: PartTable,
  columns: readonly string[],
  sentColumns: ReadonlySet<string>,
): FailureWriter {
  const stride = part.columns.length;
  const answers = part.columns.flatMap((column, field) =>
    sentColumns.has(column) ? [] : [{ column, field }],
  );
  const own = answers.filter(({ column }) => !columns.includes(column));
  const reasons = own.length > 0 ? own : answers;
  const empty = ','.repeat(columns.length);
  return (out, result) => {
    out.ascii(',FAILED,SERVICE_FAILED,');
    const values = reasons.map(({ column, field }) => ({
      column,
      value: fieldText(part.bytes, fieldStart(part, result, field), part.ends[result * stride + field]!),
    }));
    const told = values.filter(({ value }) => value !== '');
    writeValue(
      out,
      reasons.length === 1
        ? (values[0]?.value ?? '')
        : told.map(({ column, value }) => `${column}: ${value}`).join('; '),
    );
    out.ascii(empty);
  };
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
