/** What an uploaded file looks like: its header, its key and the source's columns that are sent. */
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

/** The section `upload` of the config, as far as files depend on it. */
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
 * Bytes of the longest source record that is sure to fit into a file of `maxBytes`, together with the header, the
 * digits of the key and quotes around each field. A column that is sent several times counts as often.
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
