/** Paid requests as both databases store them: upload attempts and searches. */
import type { Search, SingleSearch, Upload } from '../state.js';

/** A row with the names of the port. */
export interface StoredUpload extends Omit<Upload, 'local'> {
  readonly local: 0 | 1 | null;
}

export function toUploadIfAny(row: StoredUpload | undefined): Upload | undefined {
  return row && toUpload(row);
}

export function toUpload(row: StoredUpload): Upload {
  return { ...row, local: row.local === null ? null : row.local === 1 };
}

/** A search of a run, with the names of the port. */
export interface StoredSearch {
  record: number;
  state: Search['state'];
  values: string | null;
  startedAt: number;
}

export function toSearch(row: StoredSearch): Search {
  return { ...row, values: row.values === null ? null : (JSON.parse(row.values) as Search['values']) };
}

/** A search that belongs to no run, with the names of the port. */
export interface StoredSingleSearch extends Omit<SingleSearch, 'local'> {
  readonly local: 0 | 1 | null;
}

export function toSingleSearch({ local, ...row }: StoredSingleSearch): SingleSearch {
  return { ...row, local: local === null ? null : local === 1 };
}
