/**
 * Cuts records into uploadable chunks: the pure core of chunk-records, also used to foresee them.
 * Invariant: the same source, columns and limits always give the same chunks with the same bytes.
 */
import { createHash } from 'node:crypto';
import { stringify } from 'csv-stringify/sync';
import { CHUNK_BYTES_AT_MOST } from '../../config/sections.js';
import { type Batch, bytesBetween, endWithin } from '../../csv/batch.js';
import { UploadKernel } from '../../csv/kernel/upload-kernel.js';
import { fieldOf, type LaidOutSource } from '../../results/output-layout.js';
import type { Chunk, Position } from '../../types.js';

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

export interface CutLimits {
  readonly maxRecords: number;
  readonly maxBytes: number;
  /** Records of the first chunk, where it is to have fewer; 0: it is as the others. */
  readonly canary?: number;
  /** Bytes that a chunk's records may have in the source, what is not sent of them included; left out: 512 MB. */
  readonly maxSourceBytes?: number;
}

/**
 * @param batches records from the first one not yet cut.
 */
export async function* cutChunks(
  batches: AsyncIterable<Batch>,
  layout: UploadLayout,
  limits: CutLimits,
): AsyncGenerator<CutChunk> {
  const out = new UploadKernel(layout);
  const maxSourceBytes = limits.maxSourceBytes ?? CHUNK_BYTES_AT_MOST;
  let atMost = Math.min(limits.canary || limits.maxRecords, limits.maxRecords);
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
    const { count, fields, file, base, firstRecord, starts, ends } = batch;
    for (let r = 0; r < count; ) {
      if (first === undefined) {
        first = { record: firstRecord + r, start: { file, offset: base + starts[r]! } };
        records = 0;
        sourceBytes = 0;
        out.clear();
      }
      const upTo = Math.min(count, r + atMost - records);
      const within = endWithin(batch, r, upTo, maxSourceBytes - sourceBytes);
      const isEmpty = records === 0;
      const written = out.write(batch, r, Math.max(within, isEmpty ? r + 1 : r), isEmpty, limits.maxBytes);
      if (written > 0) sourceBytes += bytesBetween(batch, r, r + written);
      r += written;
      records += written;
      if (written > 0) {
        last = firstRecord + r - 1;
        end = { file, offset: base + ends[r * fields - 1]! };
      }
      if (r < upTo || records === atMost) {
        yield cut();
        first = undefined;
        atMost = limits.maxRecords;
      }
    }
  }
  if (first !== undefined) yield cut();
}
