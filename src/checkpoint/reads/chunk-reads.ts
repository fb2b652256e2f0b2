/** Chunks by number, by state and by place. */
import type { UnprocessedCause } from '../../types.js';
import type { CheckpointReader, ChunkRow, ChunkState } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

interface StoredChunk {
  number: number;
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
  merged_end: number | null;
  merged_successful: number | null;
  merged_failed: number | null;
  merged_unprocessed: number | null;
  merged_indistinct: number | null;
}

/** Makes `chunk`, `chunksIn`, `lastChunk` and `lastMerged`. */
export function chunkReads(
  db: StateDatabase,
): Pick<CheckpointReader, 'chunk' | 'chunksIn' | 'lastChunk' | 'lastMerged'> {
  const byNumber = db.prepare<[string, number], StoredChunk>(
    'SELECT * FROM chunks WHERE run = ? AND number = ?',
  );
  // The planner would rather walk along the primary key, through every chunk of the run.
  const inState = db.prepare<[string, ChunkState, number, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_by_state
    WHERE run = ? AND state = ? AND number > ? ORDER BY number LIMIT ?`);
  const last = db.prepare<[string], StoredChunk>(`
    SELECT * FROM chunks WHERE run = ? ORDER BY number DESC LIMIT 1`);
  const lastMerged = db.prepare<[string], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_merged
    WHERE run = ? AND merged_end IS NOT NULL ORDER BY number DESC LIMIT 1`);

  return {
    chunk: db.read((run: string, number: number) => toChunkIfAny(byNumber.get(run, number))),
    // One look into the index for each state: a single query over several would sort or scan the whole run.
    chunksIn: db.read((run: string, states: readonly ChunkState[], after: number, limit: number) =>
      [...new Set(states)]
        .flatMap((state) => inState.all(run, state, after, limit))
        .sort((a, b) => a.number - b.number)
        .slice(0, limit)
        .map(toChunk),
    ),
    lastChunk: db.read((run: string) => toChunkIfAny(last.get(run))),
    lastMerged: db.read((run: string) => toChunkIfAny(lastMerged.get(run))),
  };
}

function toChunkIfAny(row: StoredChunk | undefined): ChunkRow | undefined {
  return row && toChunk(row);
}

function toChunk(row: StoredChunk): ChunkRow {
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
    attempt: row.attempt,
    folio: row.folio,
    submittedAt: row.submitted_at,
    counts: row.successful === null ? null : { successful: row.successful, failed: row.failed ?? 0 },
    cause: row.cause,
    mergedEnd: row.merged_end,
    merged:
      row.merged_end === null
        ? null
        : {
            successful: row.merged_successful ?? 0,
            failed: row.merged_failed ?? 0,
            unprocessed: row.merged_unprocessed ?? 0,
            indistinct: row.merged_indistinct ?? 0,
          },
  };
}
