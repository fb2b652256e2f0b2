/** Paid requests as both databases store them: upload attempts and searches; and the caps of the budget they spend. */

import { GuardError } from '../../errors.js';
import { countOf, formatCount } from '../../quantities.js';
import type { Budget, Search, SingleSearch, Spending, Upload, UploadSum } from '../state.js';

/** A row with the names of the port. */
export interface StoredUpload extends Omit<Upload, 'local'> {
  readonly local: 0 | 1 | null;
}

export function toUploadIfAny(row: StoredUpload | undefined): Upload | undefined {
  return row && toUpload(row);
}

/** The columns of an upload with the names of the port. */
export const UPLOAD_COLUMNS = `run, chunk, attempt, file_name AS "fileName", records, state, doubt, folio, local,
  service_records AS "serviceRecords", started_at AS "startedAt", ended_at AS "endedAt"`;

/** Names each field: the ledger reads a million of these, and a spread takes ten times as long. */
export function toUpload(row: StoredUpload): Upload {
  return {
    run: row.run,
    chunk: row.chunk,
    attempt: row.attempt,
    fileName: row.fileName,
    records: row.records,
    state: row.state,
    doubt: row.doubt,
    folio: row.folio,
    local: row.local === null ? null : row.local === 1,
    serviceRecords: row.serviceRecords,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
  };
}

/** A condition on upload rows: its chunk is in no sum of plain uploads. */
export const IS_UNUSUAL = `(attempt > 1 OR state <> 'accepted' OR service_records <> records)`;

/** A sum of plain uploads, with the names of the port. */
export interface StoredSum extends Omit<UploadSum, 'local'> {
  readonly local: 0 | 1;
}

/** Sums of the plain uploads of a run. */
export const UPLOAD_SUMS = `
  SELECT coalesce(local, 0) AS local, count(*) AS uploads, CAST(sum(records) AS BIGINT) AS records,
    min(started_at) AS "firstAt", max(started_at) AS "lastAt"
  FROM uploads
  WHERE run = @run AND chunk NOT IN (SELECT chunk FROM uploads WHERE run = @run AND ${IS_UNUSUAL})
  GROUP BY 1 ORDER BY 1`;

export function toSum({ local, ...sum }: StoredSum): UploadSum {
  return { local: local === 1, ...sum };
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

/** The columns of such a search with the names of the port. */
export const SINGLE_SEARCH_COLUMNS = 'id, pipeline, service, state, local, started_at AS "startedAt", day';

export function toSingleSearch({ local, ...row }: StoredSingleSearch): SingleSearch {
  return { ...row, local: local === null ? null : local === 1 };
}

/** Who pays: a run, or a pipeline for what belongs to no run. */
export type Payer = { readonly run: string } | { readonly pipeline: string };

/** The run in rows of what belongs to no run. */
export const NO_RUN = '';

/** Days are compared as text: a month is the range from `2026-11` to `2026-11~`. */
export const AFTER_ALL_DAYS = '~';

/** Whether what was spent has to be read before more is reserved. */
export function hasCaps({ perRun, perDay, perMonth }: Budget): boolean {
  return perRun !== null || perDay !== null || perMonth !== null;
}

/**
 * @param run `NO_RUN` if the payer is no run; `perRun` does not count then.
 * @param records those of the next request.
 * @throws GuardError `BUDGET_REACHED` when a cap would be exceeded.
 */
export function refuseAboveCaps(
  { perRun, perDay, perMonth }: Budget,
  run: string,
  before: Spending,
  records: number,
): void {
  refuseAbove('perRun', run === NO_RUN ? null : perRun, before.run, records);
  refuseAbove('perDay', perDay, before.day, records);
  refuseAbove('perMonth', perMonth, before.month, records);
}

function refuseAbove(cap: string, limit: number | null, spent: number, records: number): void {
  if (limit === null || spent + records <= limit) return;
  throw new GuardError(
    'BUDGET_REACHED',
    `budget.${cap} is ${countOf(limit, 'record')}: ${formatCount(spent)} are spent, and the next request has ${formatCount(records)}`,
    { facts: { cap, limit, spent, records } },
  );
}
