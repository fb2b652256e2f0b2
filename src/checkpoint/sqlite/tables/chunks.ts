/** Reads of chunks: by number, by state, and in the order of the source. */
import type { CheckpointReader, ChunkState } from '../../checkpoint.js';
import { type StoredChunk, toChunk } from '../../rows/chunk-rows.js';
import type { ChunkRow } from '../../state.js';
import type { StateDatabase } from '../state-database.js';

type ChunkRead = 'chunk' | 'chunksIn' | 'nextChunk' | 'lastCut' | 'lastRound';

const COLUMNS = [
  ...(['number', 'round', 'first_record', 'last_record', 'records'] as const),
  ...(['start_file', 'start_offset', 'end_file', 'end_offset', 'bytes', 'sha256'] as const),
  ...(['state', 'attempt', 'folio', 'submitted_at', 'successful', 'failed', 'cause', 'refusal'] as const),
] as const satisfies readonly (keyof StoredChunk)[];

const SELECT = `SELECT ${COLUMNS.join(', ')} FROM chunks`;

/**
 * The values of `COLUMNS`. A chunk is read a dozen times, and a row as a list takes half of the time of one with names.
 */
type PackedChunk = ValuesOf<typeof COLUMNS>;
type ValuesOf<Names extends readonly (keyof StoredChunk)[]> = {
  readonly [At in keyof Names]: StoredChunk[Names[At]];
};

function unpackChunk(row: PackedChunk): ChunkRow {
  return toChunk({
    number: row[0],
    round: row[1],
    first_record: row[2],
    last_record: row[3],
    records: row[4],
    start_file: row[5],
    start_offset: row[6],
    end_file: row[7],
    end_offset: row[8],
    bytes: row[9],
    sha256: row[10],
    state: row[11],
    attempt: row[12],
    folio: row[13],
    submitted_at: row[14],
    successful: row[15],
    failed: row[16],
    cause: row[17],
    refusal: row[18],
  });
}

function unpackIfAny(row: PackedChunk | undefined): ChunkRow | undefined {
  return row && unpackChunk(row);
}

/**
 * Prepares a change of at most one chunk. Must be called within a transaction.
 * @param sql adds or updates the row.
 * @returns a function that returns the changed chunk; undefined if no row was changed.
 */
export function chunkChange(db: StateDatabase, sql: string): (values: object) => ChunkRow | undefined {
  const change = db.prepare<[object], PackedChunk>(`${sql} RETURNING ${COLUMNS.join(', ')}`).raw();
  return (values) => unpackIfAny(change.get(values));
}

/** Makes the reads of chunks. */
export function chunkReads(db: StateDatabase): Pick<CheckpointReader, ChunkRead> {
  const byNumber = db.prepare<[string, number], PackedChunk>(`${SELECT} WHERE run = ? AND number = ?`).raw();
  // Without INDEXED BY, SQLite would follow the primary key through all chunks of the run. With a bare `LIMIT ?`,
  // SQLite plans by its value and prepares the statement again at each call; `+ 0` avoids this.
  const inState = db
    .prepare<[string, ChunkState, number, number], PackedChunk>(`
    ${SELECT} INDEXED BY chunks_by_state
    WHERE run = ? AND state = ? AND number > ? ORDER BY number LIMIT ? + 0`)
    .raw();
  const next = db
    .prepare<[object], PackedChunk>(`
    ${SELECT} INDEXED BY chunks_in_order
    WHERE run = @run AND round = @round AND state <> 'split' AND last_record > @afterRecord
      AND first_record >= coalesce((
        SELECT first_record FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = @round AND state <> 'split' AND first_record <= @afterRecord
        ORDER BY first_record DESC LIMIT 1), 0)
    ORDER BY first_record LIMIT 1`)
    .raw();
  const last = db
    .prepare<[string, number], PackedChunk>(`
    ${SELECT} INDEXED BY chunks_in_order
    WHERE run = ? AND round = ? AND state <> 'split' ORDER BY first_record DESC LIMIT 1`)
    .raw();
  const lastRound = db
    .prepare<[string], number>(
      "SELECT coalesce(max(round), 0) FROM chunks INDEXED BY chunks_in_order WHERE run = ? AND state <> 'split'",
    )
    .pluck();

  return {
    chunk: db.read((run, number) => unpackIfAny(byNumber.get(run, number))),
    // One query for each state, because a query over several states would sort or scan the whole run.
    chunksIn: db.readTogether((run, states, after, limit) =>
      [...new Set(states)]
        .flatMap((state) => inState.all(run, state, after, limit))
        .sort(([a], [b]) => a - b)
        .slice(0, limit)
        .map(unpackChunk),
    ),
    nextChunk: db.read((run, round, afterRecord) => unpackIfAny(next.get({ run, round, afterRecord }))),
    lastCut: db.read((run, round) => unpackIfAny(last.get(run, round))),
    lastRound: db.read((run) => lastRound.get(run)!),
  };
}
