/**
 * Cuts records into uploadable chunks. Invariant: the same source, columns and limits always give the same chunks with
 * the same bytes.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import { MAX_CHUNK_BYTES } from '../../config/sections/sections.js';
import { UploadKernel, type UploadLayout } from '../../csv/kernel/upload-kernel.js';
import { type Batch, bytesBetween, endOfFitting, recordBytes } from '../../csv/table.js';
import { fieldOf, type LayoutSource } from '../../results/output-layout.js';
import type { Chunk, Position } from '../../types.js';

export interface CutChunk {
  /** Without its number, which the checkpoint gives. */
  readonly chunk: Omit<Chunk, 'number'>;
  /** The bytes to upload; valid until the next chunk is asked for. */
  readonly content: Uint8Array;
}

export interface CutLimits {
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Records of the first chunk, if it has fewer than the others; 0 or left out: the same number. */
  readonly canary?: number;
  /** The most bytes of a chunk's records in the source, including columns that are not sent. Default: 512 MB. */
  readonly maxSourceBytes?: number;
  /** Whether the bytes between records of a chunk count too: those of blank records, which are merged with the chunk. */
  readonly countsGaps?: boolean;
}

/** @param batches start with the first record that is not in a chunk yet. */
export async function* cutChunks(
  batches: AsyncIterable<Batch>,
  layout: UploadLayout,
  limits: CutLimits,
): AsyncGenerator<CutChunk> {
  const out = new UploadKernel(layout);
  const maxSourceBytes = limits.maxSourceBytes ?? MAX_CHUNK_BYTES;
  const bytesOf = limits.countsGaps ? bytesBetween : recordBytes;
  let maxRecords = Math.min(limits.canary || limits.maxRecords, limits.maxRecords);
  let first: { record: number; start: Position } | undefined;
  let end: Position = { file: 0, offset: 0 };
  let records = 0;
  let sourceBytes = 0;
  let last = 0;

  const cut = (): CutChunk => {
    const content = out.file;
    const chunk = {
      firstRecord: first!.record,
      lastRecord: last,
      records,
      start: first!.start,
      end,
      bytes: content.length,
      sha256: createHash('sha256').update(content).digest('hex'),
    };
    return { chunk, content };
  };

  for await (const batch of batches) {
    const { count, fields, file, base, numbers, starts, ends } = batch;
    for (let r = 0; r < count; ) {
      if (first === undefined) {
        first = { record: numbers[r]!, start: { file, offset: base + starts[r]! } };
        records = 0;
        sourceBytes = 0;
        out.clear();
      }
      if (limits.countsGaps && records > 0 && file === end.file) {
        sourceBytes += base + starts[r]! - end.offset;
      }
      const upTo = Math.min(count, r + maxRecords - records);
      const within = endOfFitting(batch, r, upTo, maxSourceBytes - sourceBytes, bytesOf);
      const isEmpty = records === 0;
      const written = out.write(batch, r, Math.max(within, isEmpty ? r + 1 : r), isEmpty, limits.maxBytes);
      if (written > 0) sourceBytes += bytesOf(batch, r, r + written);
      r += written;
      records += written;
      if (written > 0) {
        last = numbers[r - 1]!;
        end = { file, offset: base + ends[r * fields - 1]! };
      }
      if (r < upTo || records === maxRecords) {
        yield cut();
        first = undefined;
        maxRecords = limits.maxRecords;
      }
    }
  }
  if (first !== undefined) yield cut();
}

/** The options of the config section `upload` that decide what a file contains. */
export interface UploadOptions {
  readonly columns: Readonly<Record<string, string>>;
  readonly keyColumn: string | null;
}

/** @throws ConfigError when a configured column is not in the source. */
export function createUploadLayout(source: LayoutSource, upload: UploadOptions): UploadLayout {
  return {
    header: uploadHeader(upload),
    hasKey: upload.keyColumn !== null,
    fields: Object.entries(upload.columns).map(([name, column]) =>
      fieldOf(source.columns, column, `upload.columns.${name}`),
    ),
    delimiter: source.files[0]!.dialect.delimiter.charCodeAt(0),
  };
}

/**
 * The length in bytes up to which a record of the source always fits into a file of `maxBytes`. Room is kept for the
 * header, the digits of the key and quotes around each field. A column that is sent twice counts twice.
 */
export function maxRecordBytes(upload: UploadOptions, maxBytes: number): number {
  const sent = Object.values(upload.columns);
  const times = Math.max(...sent.map((column) => sent.filter((other) => other === column).length));
  return Math.floor((maxBytes - uploadHeader(upload).length - 2 * sent.length - 24) / times);
}

function uploadHeader({ columns, keyColumn }: UploadOptions): Buffer {
  const names = Object.keys(columns);
  return Buffer.from(stringify([keyColumn === null ? names : [keyColumn, ...names]]));
}
