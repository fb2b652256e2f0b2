/**
 * Cuts records into uploadable chunks: the pure core of chunk-records, also used to foresee them.
 * Invariant: the same source, columns and limits always give the same chunks with the same bytes.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import type { Batch } from '../csv/batch.js';
import { ByteWriter } from '../csv/byte-writer.js';
import { writeField } from '../csv/write-field.js';
import { fieldOf, type LaidOutSource } from '../results/output-layout.js';
import type { Chunk, Position } from '../types.js';

/** What an uploaded file looks like (contract, "Upload"). */
export interface UploadLayout {
  /** The header with its newline. */
  readonly header: Buffer;
  readonly hasKey: boolean;
  /** Places of the sent columns in the source. */
  readonly fields: readonly number[];
  /** Byte of the source's delimiter. */
  readonly delimiter: number;
}

export interface UploadOptions {
  readonly columns: Readonly<Record<string, string>>;
  readonly keyColumn: string | null;
}

/** @throws ConfigError when a configured column is not in the source. */
export function createUploadLayout(source: LaidOutSource, upload: UploadOptions): UploadLayout {
  return {
    header: uploadHeader(upload),
    hasKey: upload.keyColumn !== null,
    fields: Object.entries(upload.columns).map(([name, column]) =>
      fieldOf(source.columns, column, `upload.columns.${name}`),
    ),
    delimiter: source.files[0]!.dialect.delimiter.charCodeAt(0),
  };
}

function uploadHeader({ columns, keyColumn }: UploadOptions): Buffer {
  const names = Object.keys(columns);
  return Buffer.from(stringify([keyColumn === null ? names : [keyColumn, ...names]]));
}

/**
 * The longest source record that surely fits into a file of `maxBytes`: together with the header, the key's
 * digits, and quotes around each field, and as often as one of its columns is sent.
 */
export function maxRecordBytes(upload: UploadOptions, maxBytes: number): number {
  const sent = Object.values(upload.columns);
  const times = Math.max(...sent.map((column) => sent.filter((other) => other === column).length));
  return Math.floor((maxBytes - uploadHeader(upload).length - 2 * sent.length - 24) / times);
}

export interface CutChunk {
  /** Without a number: whoever keeps it gives it one. */
  readonly chunk: Omit<Chunk, 'number'>;
  /** The uploadable file; valid until the next chunk is asked for. */
  readonly content: Uint8Array;
}

/**
 * @param batches records from the first one not yet cut.
 */
export async function* cutChunks(
  batches: AsyncIterable<Batch>,
  layout: UploadLayout,
  limits: { readonly maxRecords: number; readonly maxBytes: number },
): AsyncGenerator<CutChunk> {
  const out = new ByteWriter(256 * 1024);
  let first: { record: number; start: Position } | undefined;
  let records = 0;
  let last = 0;
  let endFile = 0;
  let endOffset = 0;

  const cut = (length: number): CutChunk => {
    const content = out.view().subarray(0, length);
    const chunk = {
      firstRecord: first!.record,
      lastRecord: last,
      records,
      start: first!.start,
      end: { file: endFile, offset: endOffset },
      bytes: length,
      sha256: createHash('sha256').update(content).digest('hex'),
    };
    return { chunk, content };
  };
  const begin = (batch: Batch, r: number) => {
    first = {
      record: batch.firstRecord + r,
      start: { file: batch.file, offset: batch.base + batch.starts[r]! },
    };
    records = 0;
    out.clear();
    out.copy(layout.header, 0, layout.header.length);
  };

  for await (const batch of batches) {
    for (let r = 0; r < batch.count; r++) {
      if (first === undefined) begin(batch, r);
      const before = out.length;
      writeUploadRecord(out, batch, r, layout);
      if (records > 0 && out.length > limits.maxBytes) {
        yield cut(before);
        begin(batch, r);
        writeUploadRecord(out, batch, r, layout);
      }
      records += 1;
      last = batch.firstRecord + r;
      endFile = batch.file;
      endOffset = batch.base + batch.ends[(r + 1) * batch.fields - 1]!;
      if (records === limits.maxRecords) {
        yield cut(out.length);
        first = undefined;
      }
    }
  }
  if (first !== undefined) yield cut(out.length);
}

function writeUploadRecord(out: ByteWriter, batch: Batch, r: number, layout: UploadLayout): void {
  const first = r * batch.fields;
  const before = out.length;
  if (layout.hasKey) out.number(batch.firstRecord + r);
  for (let at = 0; at < layout.fields.length; at++) {
    const field = layout.fields[at]!;
    if (at > 0 || layout.hasKey) out.byte(comma);
    const start = field === 0 ? batch.starts[r]! : batch.ends[first + field - 1]! + 1;
    writeField(out, batch.bytes, start, batch.ends[first + field]!, layout.delimiter);
  }
  // A line with nothing on it would be no record for whoever reads the file.
  if (out.length === before) out.ascii('""');
  out.byte(lineFeed);
}

const comma = 0x2c;
const lineFeed = 0x0a;
