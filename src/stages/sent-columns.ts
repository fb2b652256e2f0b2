/** The columns of an uploaded file by name. */
import type { SentColumns } from '../results/join-way.js';
import type { UploadOptions } from './cut-chunks.js';

export function sentColumns(upload: UploadOptions): SentColumns {
  return { key: upload.keyColumn, columns: Object.keys(upload.columns) };
}
