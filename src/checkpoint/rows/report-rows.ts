/** The rows that reports and tallies read, in the form that both databases return. */
import type { ChunkTimes } from '../checkpoint-reader.js';
import type { Night, NightFacts } from '../night.js';
import type { ChunkState, Search, Tally } from '../state.js';
import { type StoredCounts, toRowCounts } from './chunk-rows.js';

export interface StoredTimes extends Omit<ChunkTimes, 'counts'> {
  readonly successful: number | null;
  readonly failed: number | null;
}

export interface StoredNight {
  readonly publication: number;
  readonly run: string;
  readonly night: string;
}

export function toNight({ night, run, publication }: StoredNight): Night {
  return { ...(JSON.parse(night) as NightFacts), run, publication };
}

export function toTimes({ successful, failed, ...times }: StoredTimes): ChunkTimes {
  return { ...times, counts: successful === null ? null : { successful, failed: failed ?? 0 } };
}

const sum = (column: string) => `CAST(coalesce(sum(${column}), 0) AS BIGINT) AS ${column}`;

/** Gives rows of `StateRow`. */
export const BY_STATE = `
  SELECT state, count(*) AS chunks, ${sum('records')} FROM chunks WHERE run = @run GROUP BY state`;

/** Gives a `MergedRow`. */
export const MERGED = `
  SELECT ${sum('records')}, coalesce(max(last_record), 0) AS last,
    ${sum('successful')}, ${sum('failed')}, ${sum('unprocessed')}, ${sum('indistinct')},
    ${sum('reused_successful')}, ${sum('reused_failed')},
    ${sum('duplicate_successful')}, ${sum('duplicate_failed')}, ${sum('duplicate_unprocessed')},
    ${sum('skipped')}
  FROM stretches WHERE run = @run`;

/** Gives an `UploadsRow`. An earlier attempt may be accepted late, when another process has sent the chunk again. */
export const UPLOADS = `
  SELECT
    (SELECT count(*) FROM uploads WHERE run = @run AND state = 'accepted') AS accepted,
    (SELECT count(*) FROM uploads WHERE run = @run AND state = 'ambiguous') AS ambiguous,
    (SELECT count(*) FROM uploads AS later
      WHERE run = @run AND attempt > 1 AND state IN ('accepted', 'ambiguous') AND EXISTS (
        SELECT 1 FROM uploads WHERE run = @run AND chunk = later.chunk AND attempt < later.attempt
          AND state IN ('accepted', 'ambiguous'))) AS resubmitted,
    (SELECT CAST(coalesce(sum(records), 0) AS BIGINT) FROM uploads
      WHERE run = @run AND state = 'ambiguous') AS "ambiguousRecords"`;

export interface StateRow {
  state: ChunkState;
  chunks: number;
  records: number;
}

export interface MergedRow extends StoredCounts {
  records: number;
  last: number;
}

export interface UploadsRow {
  accepted: number;
  ambiguous: number;
  resubmitted: number;
  ambiguousRecords: number;
}

export interface SearchesRow {
  state: Search['state'];
  count: number;
}

const NONE: Readonly<Record<ChunkState, number>> = {
  cut: 0,
  uploading: 0,
  ambiguous: 0,
  submitted: 0,
  finished: 0,
  downloaded: 0,
  unprocessed: 0,
  refused: 0,
  split: 0,
};

/** What both databases read for a tally. */
export interface TallyRows {
  readonly byState: readonly StateRow[];
  readonly merged: MergedRow;
  /** Chunks of the source that end at `merged.last` or before it. */
  readonly chunksMerged: number;
  readonly uploads: UploadsRow;
  readonly searches: readonly SearchesRow[];
}

export function toTally({ byState, merged, chunksMerged, uploads, searches }: TallyRows): Tally {
  const chunks = { ...NONE };
  const records = { ...NONE };
  for (const row of byState) {
    chunks[row.state] = row.chunks;
    records[row.state] = row.records;
  }
  const { ambiguousRecords, ...attempts } = uploads;
  const asked = { answered: 0, ambiguous: 0 };
  for (const { state, count } of searches) {
    if (state === 'answered' || state === 'ambiguous') asked[state] = count;
  }
  return {
    chunks,
    records,
    merged: { chunks: chunksMerged, records: merged.records },
    counts: toRowCounts(merged),
    uploads: attempts,
    searches: asked,
    ambiguousRecords: ambiguousRecords + asked.ambiguous,
  };
}
