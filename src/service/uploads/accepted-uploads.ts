/** What the service has accepted, for a test that looks at what its program has sent. */
import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { readHeader } from '../../csv/read-header.js';
import type { FileStatus } from '../../types.js';
import type { Folio, FolioStatus } from '../store/folio.js';
import type { FolioStore } from '../store/folio-store.js';
import type { UploadFolder } from './upload-folder.js';

/** An upload that the service has accepted, and the progress of its processing. */
export interface AcceptedUpload {
  /** The id in the service's reply. */
  readonly folio: string;
  /** The name of the uploaded file. */
  readonly fileName: string;
  /** The note that came with it. */
  readonly description: string;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly acceptedAt: number;
  readonly status: FolioStatus;
  /** Records in the file. A real service is paid for each. */
  readonly records: number;
  /** Records that have a prediction by now. */
  readonly successful: number;
  /** Records that have failed by now. */
  readonly failed: number;
  /**
   * The records that it held, as objects by the sent columns. Those of a FINISHED upload come from its results: first the
   * successful ones, then the failed ones, each in the order of the file.
   */
  readonly sent: () => readonly Readonly<Record<string, string>>[];
}

/** All accepted uploads, oldest first. `sent` must be called before the service is closed. */
export function acceptedUploads(store: FolioStore, uploads: UploadFolder): readonly AcceptedUpload[] {
  return store.all().map((folio) => {
    const { fileName, description, createdAt, status, records, successful, failed } = folio;
    return {
      folio: folio.folio,
      fileName,
      description,
      acceptedAt: createdAt,
      status,
      records,
      successful,
      failed,
      sent: () => sentRecords(folio.folio, store, uploads),
    };
  });
}

/** Reads at once, without letting the processor run, which removes the file of an upload that it has finished. */
function sentRecords(name: string, store: FolioStore, uploads: UploadFolder): Record<string, string>[] {
  const folio = store.find(name)!;
  const { columns } = readHeader(folio.header, ',');
  const rows =
    folio.status === 'PROCESSING'
      ? rowsOf(readFileSync(uploads.path(name))).slice(1)
      : rowsOf(Buffer.concat(resultParts(folio).flatMap((part) => [...store.content(part)])));
  return rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at] ?? ''])));
}

/** Parts of both kinds may follow each other: failed records have fewer columns. */
function rowsOf(csv: Buffer): string[][] {
  return parse(csv, { bom: true, skip_empty_lines: true, relax_column_count: true });
}

function resultParts({ id, successful, segmentRecords }: Folio) {
  const part = (fileStatus: FileStatus, number: number) => ({ folioId: id, fileStatus, part: number });
  const count = Math.ceil(successful / segmentRecords);
  return [...Array.from({ length: count }, (_, number) => part('SUCCESSFUL', number)), part('FAILED', 0)];
}
