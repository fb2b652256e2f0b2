/**
 * Reads one part of results into a table over its bytes. A part is CSV with a header, comma, LF or CRLF, and UTF-8:
 * docs/architecture.md#what-the-interface-leaves-open.
 */
import { UTF8_BOM } from '../csv/bytes.js';
import { type Header, readHeader } from '../csv/read-header.js';
import { type ScanOptions, scanTable } from '../csv/scan-records.js';
import type { Table } from '../csv/table.js';
import { MismatchError } from '../errors.js';
import type { PartReference } from '../types.js';

/** Offsets in a part are 32-bit numbers, and the scanner needs some room after its bytes. */
export const MAX_PART_BYTES = 0x7000_0000;

/** The results of a part. `bytes` begin after the header. */
export interface PartTable extends Table {
  readonly reference: PartReference;
  readonly columns: readonly string[];
  /** Whether each row has a single field, which holds all columns as they are in the output, with commas between them. */
  readonly isJoined?: boolean;
}

/**
 * Reads a decoded part. An empty part gives a table without columns and results.
 *
 * @param reference with the number of its results, if it is known.
 * @throws UntrustedError `PART_MALFORMED` when the part is not well-formed CSV with a header.
 */
export function readPartTable(
  reference: PartReference & { readonly records?: number },
  bytes: Buffer,
): PartTable {
  if (bytes.length === 0) {
    return { reference, columns: [], bytes, count: 0, fields: 0, starts: NO_OFFSETS, ends: NO_OFFSETS };
  }
  const header = readPartHeader(reference, bytes);
  return readResults(reference, header, bytes.subarray(header.bytes));
}

/** The columns of results, and the bytes before the first one. */
type ResultHeader = Readonly<Pick<Header, 'bytes'>> & { readonly columns: readonly string[] };

/**
 * Reads results without a header.
 *
 * @param reference with the number of the results, if it is known.
 * @param header their columns, and the bytes before them.
 * @throws UntrustedError `PART_MALFORMED` when the results are not well-formed CSV.
 */
export function readResults(
  reference: PartReference & { readonly records?: number },
  header: ResultHeader,
  results: Buffer,
): PartTable {
  const table = scanTable(results, scanOptions(reference, header), reference.records);
  return { reference, columns: header.columns, ...table };
}

const NO_OFFSETS = new Int32Array(0);

/**
 * `bytes` of the header include a byte order mark.
 * @throws MismatchError when the part does not begin with a header of distinct names.
 */
function readPartHeader(reference: PartReference, bytes: Buffer): Header {
  const bom = bytes.subarray(0, 3).equals(UTF8_BOM) ? UTF8_BOM.length : 0;
  try {
    const header = readHeader(bytes.subarray(bom), ',');
    return { columns: header.columns, bytes: header.bytes + bom };
  } catch (error) {
    throw malformed(reference, error instanceof Error ? error.message : String(error));
  }
}

/** Options to scan the bytes after the header. */
function scanOptions(reference: PartReference, header: ResultHeader): ScanOptions {
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

function malformed(reference: PartReference, reason: string): MismatchError {
  return new MismatchError(
    'PART_MALFORMED',
    `${reference.fileStatus} part ${reference.part} is not readable as CSV: ${reason}`,
    { facts: { part: reference.part, fileStatus: reference.fileStatus } },
  );
}
