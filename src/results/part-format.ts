/** How parts of results are written (DESIGN, section 5): CSV with a header, LF or CRLF, comma, UTF-8. */
import { LF } from '../csv/ascii.js';
import { readHeader } from '../csv/read-header.js';
import type { ScanOptions } from '../csv/scan-records.js';
import { MismatchError } from '../errors/index.js';
import type { FileStatus, PartReference } from '../types.js';

export interface PartHeader {
  readonly columns: readonly string[];
  /** Bytes before the first result, a byte order mark included. */
  readonly bytes: number;
}

/** The last header of each kind of part with its bytes: the parts of a run begin alike. */
const known = new Map<FileStatus, { readonly head: Buffer; readonly header: PartHeader }>();

/** @throws MismatchError when the part does not begin with a header of distinct names. */
export function readPartHeader(reference: PartReference, bytes: Buffer): PartHeader {
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
export function partScan(reference: PartReference, header: PartHeader): ScanOptions {
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
