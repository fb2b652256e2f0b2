/** One part of results as a table over its bytes: where every field of every result stands. */
import { LF } from '../csv/bytes.js';
import { CountKernel } from '../csv/kernel/count-kernel.js';
import { readHeader } from '../csv/read-header.js';
import { type ScanOptions, scanBuffer } from '../csv/scan-records.js';
import { MismatchError } from '../errors.js';
import { grown } from '../source/record-block.js';
import { takeNumbers } from '../streams/buffer-pool.js';
import type { FileStatus, PartReference } from '../types.js';

/** Places in a part stand in numbers of 32 bits, and the scan needs some room of its own beside it. */
export const PART_BYTES_AT_MOST = 0x7000_0000;

/** Field `k` of result `r` stands at `fieldStart(table, r, k)` to `table.ends[r * fields + k]`, quotes included. */
export interface PartTable {
  readonly reference: PartReference;
  readonly columns: readonly string[];
  /** Those behind the header. */
  readonly bytes: Uint8Array;
  readonly count: number;
  /** The first `count` are used; of `ends` as many times the number of columns. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
}

/**
 * Reads a decoded part. An empty one is a table without columns and results.
 * @param reference with the number of its results, where that is known.
 * @throws UntrustedError when it is no well-formed CSV with a header.
 */
export function readPartTable(
  reference: PartReference & { readonly records?: number },
  bytes: Buffer,
): PartTable {
  if (bytes.length === 0) return { reference, columns: [], bytes, count: 0, starts: none, ends: none };
  const header = readPartHeader(reference, bytes);
  const fields = header.columns.length;
  const results = bytes.subarray(header.bytes);
  let starts = takeNumbers(reference.records ?? FIRST_CAPACITY);
  let ends = takeNumbers(starts.length * fields);
  let count = 0;
  for (const batch of scanBuffer(results, partScan(reference, header))) {
    starts = grown(starts, count + batch.count);
    ends = grown(ends, (count + batch.count) * fields);
    starts.set(batch.starts, count);
    ends.set(batch.ends, count * fields);
    count += batch.count;
  }
  return { reference, columns: header.columns, bytes: results, count, starts, ends };
}

/** Where a field of a result begins. */
export function fieldStart(table: PartTable, result: number, field: number): number {
  const at = result * table.columns.length + field;
  return field === 0 ? table.starts[result]! : table.ends[at - 1]! + 1;
}

const none = new Int32Array(0);
const FIRST_CAPACITY = 1024;

/** How parts of results are written (DESIGN, section 5): CSV with a header, LF or CRLF, comma, UTF-8. */
export interface PartHeader {
  readonly columns: readonly string[];
  /** Bytes before the first result, a byte order mark included. */
  readonly bytes: number;
}

/** The last header of each kind of part with its bytes: the parts of a run begin alike. */
const known = new Map<FileStatus, { readonly head: Buffer; readonly header: PartHeader }>();

/** @throws MismatchError when the part does not begin with a header of distinct names. */
function readPartHeader(reference: PartReference, bytes: Buffer): PartHeader {
  const { fileStatus } = reference;
  const last = known.get(fileStatus);
  if (last !== undefined && bytes.subarray(0, last.head.length).equals(last.head)) return last.header;
  const header = parseHeader(reference, bytes);
  const head = Buffer.from(bytes.subarray(0, header.bytes));
  // Without its line feed it may be the beginning of a longer one.
  if (head.at(-1) === LF) known.set(fileStatus, { head, header });
  return header;
}

function parseHeader(reference: PartReference, bytes: Buffer): PartHeader {
  const bom = bytes.subarray(0, 3).equals(utf8Bom) ? utf8Bom.length : 0;
  try {
    const header = readHeader(bytes.subarray(bom), ',');
    return { columns: header.columns, bytes: header.bytes + bom };
  } catch (error) {
    throw malformed(reference, error instanceof Error ? error.message : String(error));
  }
}

/** Options to scan what follows a part's header. */
function partScan(reference: PartReference, header: PartHeader): ScanOptions {
  return {
    delimiter: ',',
    fields: header.columns.length,
    maxRecordBytes: 0x7fff_ffff,
    file: 0,
    base: header.bytes,
    firstRecord: 1,
    onBadRecord: (bad) => {
      throw malformed(reference, bad.message);
    },
  };
}

const utf8Bom = Buffer.from([0xef, 0xbb, 0xbf]);

function malformed(reference: PartReference, reason: string): MismatchError {
  return new MismatchError(
    'PART_MALFORMED',
    `${reference.fileStatus} part ${reference.part} is not readable as CSV: ${reason}`,
    { facts: { part: reference.part, fileStatus: reference.fileStatus } },
  );
}

/** Counts the results of a part while its bytes pass by, so that a short part is noticed before it is joined. */
export interface CountedContent {
  /** The same bytes. */
  readonly content: AsyncIterable<Buffer>;
  /** Results seen so far, the header not counted; blank lines are none. */
  count(): number;
}

/**
 * Counts line ends outside quotes. That is right for every well-formed CSV; whether this one is well-formed,
 * the scanner finds out when the results are joined.
 */
export function countResults(content: AsyncIterable<Buffer>): CountedContent {
  const kernel = new CountKernel();
  const pass = async function* () {
    for await (const piece of content) {
      kernel.look(piece);
      yield piece;
    }
  };
  return { content: pass(), count: () => Math.max(kernel.lines - 1, 0) };
}
