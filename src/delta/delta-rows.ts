/**
 * Writes the rows of a delta: added and changed ones in the order of the output, then removed ones in that of the base.
 */
import { setImmediate as pause } from 'node:timers/promises';
import { stringify } from 'csv-stringify/sync';
import { ByteWriter } from '../csv/byte-writer.js';
import { COMMA } from '../csv/bytes.js';
import { DigestKernel } from '../csv/kernel/digest-kernel.js';
import { scanRecords } from '../csv/scan-records.js';
import type { Batch } from '../csv/table.js';
import { UntrustedError } from '../errors.js';
import { readPieces } from '../streams/read-pieces.js';
import type { RowChanges } from './compare-rows.js';
import type { DigestReader, DigestWriter } from './digest-file.js';
import type { RowPlaces } from './row-places.js';

/** A complete output on the local disk: a comma CSV with LF. */
export interface OutputTable {
  readonly path: string;
  readonly columns: readonly string[];
  /** Indexes of the columns that name a record, in the order of the key. */
  readonly keyFields: readonly number[];
  /** Indexes of the columns that hold answers of the service, the status first. */
  readonly answerFields: readonly number[];
}

type Append = (piece: Uint8Array) => void;

/** The scanner only needs some limit: a row may be as long as its record and its answer together. */
export const MAX_ROW_BYTES = 1024 * 1024 * 1024;
const FLUSH_BYTES = 256 * 1024;

/** Reads the output once, and adds the digests of its rows, and their places. */
export async function digestRows(
  table: OutputTable,
  secret: Uint8Array,
  writer: DigestWriter,
  places: RowPlaces,
  signal: AbortSignal,
): Promise<void> {
  const kernel = new DigestKernel(secret, table.keyFields, table.answerFields);
  try {
    for await (const batch of outputRows(table)) {
      signal.throwIfAborted();
      writer.add(kernel.rows(batch));
      places.add(batch);
    }
    writer.end();
  } finally {
    kernel.release();
  }
}

/**
 * Writes the header and the rows.
 * @param base the digests of the base, for the keys of removed rows; undefined without a base.
 * @param changeColumn the name of the last column.
 * @returns how many rows there are of each kind.
 */
export async function writeDeltaRows(
  table: OutputTable,
  { added, changed, kept }: RowChanges,
  places: RowPlaces,
  base: DigestReader | undefined,
  changeColumn: string,
  append: Append,
): Promise<{ readonly added: number; readonly changed: number; readonly removed: number }> {
  const out = new ByteWriter(FLUSH_BYTES * 2);
  const flush = (atLeast: number) => {
    if (out.length < atLeast) return;
    append(out.view());
    out.clear();
  };
  out.utf8(stringify([[...table.columns, changeColumn]]));
  for (const { first, count, bytes, ends } of places.blocks((row) => added.has(row) || changed.has(row))) {
    for (let at = 0; at < count; at++) {
      const isAdded = added.has(first + at);
      if (!isAdded && !changed.has(first + at)) continue;
      out.copy(bytes, at === 0 ? 0 : ends[at - 1]! + 1, ends[at]!);
      out.ascii(isAdded ? ',added\n' : ',changed\n');
      flush(FLUSH_BYTES);
    }
    // Lets signals and timers of the caller run.
    await pause();
  }
  const removed = base === undefined ? 0 : base.rows - kept.count;
  if (base !== undefined && removed > 0) {
    const isAnyRemoved = (first: number, count: number) => {
      for (let row = first; row < first + count; row++) if (!kept.has(row)) return true;
      return false;
    };
    for await (const { first, count, bytes } of base.texts(isAnyRemoved)) {
      let at = 0;
      for (let row = first; row < first + count; row++) {
        const from = at;
        for (const _ of table.keyFields) at += 4 + bytes.readInt32LE(at);
        if (kept.has(row)) continue;
        writeRemoved(out, table, bytes.subarray(from, at));
        flush(FLUSH_BYTES);
      }
    }
  }
  flush(1);
  return { added: added.count, changed: changed.count, removed };
}

/** @param texts the raw fields of the key, each after its length. */
function writeRemoved(out: ByteWriter, { columns, keyFields }: OutputTable, texts: Buffer): void {
  const offsets: number[] = [];
  for (let at = 0; at < texts.length; at += 4 + texts.readInt32LE(at)) offsets.push(at);
  for (let column = 0; column < columns.length; column++) {
    const key = keyFields.indexOf(column);
    if (key >= 0) {
      const at = offsets[key]!;
      out.copy(texts, at + 4, at + 4 + texts.readInt32LE(at));
    }
    out.byte(COMMA);
  }
  out.ascii('removed\n');
}

/**
 * The rows of an output.
 * @throws UntrustedError `OUTPUT_UNREADABLE`.
 */
export async function* outputRows({
  path,
  columns,
}: Pick<OutputTable, 'path' | 'columns'>): AsyncGenerator<Batch> {
  const header = Buffer.byteLength(stringify([columns]));
  yield* scanRecords(readPieces(path, header), {
    delimiter: ',',
    fields: columns.length,
    maxRecordBytes: MAX_ROW_BYTES,
    file: 0,
    base: header,
    firstRecord: 1,
    hasGoodText: true,
    onBadRecord: ({ record, message }) => {
      throw new UntrustedError('OUTPUT_UNREADABLE', `row ${record} of ${path} cannot be read: ${message}`, {
        hint: 'nothing is published; this is a bug in foliopipe: please report it; without output.delta the output is published',
        facts: { path, record },
      });
    },
  });
}
