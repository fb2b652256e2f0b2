/** The layout of an uploaded file: its header, its key column and the columns of the source that are sent. */
import { stringify } from 'csv-stringify/sync';
import { fieldOf, type LayoutSource } from '../../results/output-layout.js';

export interface UploadLayout {
  /** The header with its newline. */
  readonly header: Buffer;
  readonly hasKey: boolean;
  /** Indexes of the sent columns in the source. */
  readonly fields: readonly number[];
  /** Byte of the source's delimiter. */
  readonly delimiter: number;
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
