/** A chunk as both databases store it. */
import type { UnprocessedCause } from '../../types.js';
import type { ChunkRow, ChunkState } from '../state.js';

/** A row of the table `chunks`. */
export interface StoredChunk {
  number: number;
  round: number;
  first_record: number;
  last_record: number;
  records: number;
  start_file: number;
  start_offset: number;
  end_file: number;
  end_offset: number;
  bytes: number;
  sha256: string;
  state: ChunkState;
  attempt: number;
  folio: string | null;
  submitted_at: number | null;
  successful: number | null;
  failed: number | null;
  cause: UnprocessedCause | null;
  refusal: string | null;
}

export function toChunkIfAny(row: StoredChunk | undefined): ChunkRow | undefined {
  return row && toChunk(row);
}

export function toChunk(row: StoredChunk): ChunkRow {
  return {
    number: row.number,
    firstRecord: row.first_record,
    lastRecord: row.last_record,
    records: row.records,
    start: { file: row.start_file, offset: row.start_offset },
    end: { file: row.end_file, offset: row.end_offset },
    bytes: row.bytes,
    sha256: row.sha256,
    state: row.state,
    round: row.round,
    attempt: row.attempt,
    folio: row.folio,
    submittedAt: row.submitted_at,
    counts: row.successful === null ? null : { successful: row.successful, failed: row.failed ?? 0 },
    cause: row.cause,
    refusal: row.refusal,
  };
}
