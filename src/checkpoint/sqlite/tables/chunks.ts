/** Reads of chunks: by number, by state, and in the order of the source. */
import type { CheckpointReader, ChunkState } from '../../checkpoint.js';
import { unpackNumbers } from '../../packed-numbers.js';
import { type StoredChunk, toChunk, toChunkIfAny } from '../../rows/chunk-rows.js';
import type { ChunkRow } from '../../state.js';
import type { StateDatabase } from '../state-database.js';

type ChunkRead = 'chunk' | 'chunksIn' | 'nextChunk' | 'lastCut' | 'lastRound' | 'pickedRecords';

/** Prepares the read of one chunk. Must be called within a transaction or `db.read`. */
export function chunkRead(db: StateDatabase): (run: string, number: number) => ChunkRow | undefined {
  const byNumber = db.prepare<[string, number], StoredChunk>(
    'SELECT * FROM chunks WHERE run = ? AND number = ?',
  );
  return (run, number) => toChunkIfAny(byNumber.get(run, number));
}

/** Makes the reads of chunks. */
export function chunkReads(db: StateDatabase): Pick<CheckpointReader, ChunkRead> {
  // Without INDEXED BY, SQLite would follow the primary key through all chunks of the run. With a bare `LIMIT ?`,
  // SQLite plans by its value and prepares the statement again at each call; `+ 0` avoids this.
  const inState = db.prepare<[string, ChunkState, number, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_by_state
    WHERE run = ? AND state = ? AND number > ? ORDER BY number LIMIT ? + 0`);
  const next = db.prepare<[object], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_in_order
    WHERE run = @run AND round = @round AND state <> 'split' AND last_record > @afterRecord
      AND first_record >= coalesce((
        SELECT first_record FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = @round AND state <> 'split' AND first_record <= @afterRecord
        ORDER BY first_record DESC LIMIT 1), 0)
    ORDER BY first_record LIMIT 1`);
  const last = db.prepare<[string, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_in_order
    WHERE run = ? AND round = ? AND state <> 'split' ORDER BY first_record DESC LIMIT 1`);
  const lastRound = db
    .prepare<[string], number>(
      "SELECT coalesce(max(round), 0) FROM chunks INDEXED BY chunks_in_order WHERE run = ? AND state <> 'split'",
    )
    .pluck();
  const picked = db
    .prepare<[string, number], Buffer>('SELECT numbers FROM picked_records WHERE run = ? AND chunk = ?')
    .pluck();

  return {
    chunk: db.read(chunkRead(db)),
    // One query for each state, because a query over several states would sort or scan the whole run.
    chunksIn: db.readTogether((run: string, states: readonly ChunkState[], after: number, limit: number) =>
      [...new Set(states)]
        .flatMap((state) => inState.all(run, state, after, limit))
        .sort((a, b) => a.number - b.number)
        .slice(0, limit)
        .map(toChunk),
    ),
    nextChunk: db.read((run: string, round: number, afterRecord: number) =>
      toChunkIfAny(next.get({ run, round, afterRecord })),
    ),
    lastCut: db.read((run: string, round: number) => toChunkIfAny(last.get(run, round))),
    lastRound: db.read((run: string) => lastRound.get(run)!),
    pickedRecords: db.read((run: string, chunk: number) => {
      const numbers = picked.get(run, chunk);
      return numbers && unpackNumbers(numbers);
    }),
  };
}
