/** Cutting: a chunk that follows on the last one; and the read of chunks by state. */
import type { Checkpoint, CheckpointReader, ChunkRow, ChunkState } from '../../checkpoint.js';
import { expectRow } from '../../rows/change.js';
import { addChunk } from '../../rows/chunk-changes.js';
import { type StoredChunk, toChunk, toChunkIfAny } from '../../rows/chunk-rows.js';
import { changeSteps, type StateDatabase } from '../state-database.js';

/**
 * Prepares a change of at most one chunk. Must be called within a transaction.
 * @param sql adds or updates the row.
 * @returns a function that returns the changed chunk; undefined if no row was changed.
 */
export function chunkChange(db: StateDatabase, sql: string): (values: object) => ChunkRow | undefined {
  const change = db.prepare<[object], StoredChunk>(`${sql} RETURNING *`);
  return (values) => toChunkIfAny(change.get(values));
}

/** Makes `recordCut`. */
export function cutChange(db: StateDatabase): Pick<Checkpoint, 'recordCut'> {
  const take = changeSteps(db);
  const isNext = `id = @run AND state = 'open'
      AND @firstRecord > coalesce((SELECT last_record FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = @round AND state <> 'split' ORDER BY first_record DESC LIMIT 1), 0)`;
  // `chunks` is null until the source is cut completely.
  const admitOfSource = db.prepare(`SELECT 1 FROM runs WHERE chunks IS NULL AND ${isNext}`);
  const admitOfRound = db.prepare(`
    UPDATE runs SET chunks = chunks + 1
    WHERE chunks IS NOT NULL AND @round = round + 1 AND ${isNext} RETURNING 1`);

  return {
    recordCut: db.unsyncedChange((run, chunk, at) => {
      const round = chunk.picked?.round ?? 0;
      const admit = round === 0 ? admitOfSource : admitOfRound;
      const missing = `run ${run} is not open, or the chunk is not the next of round ${round}`;
      expectRow(admit.get({ run, round, firstRecord: chunk.firstRecord }), 'recordCut', missing);
      return take(addChunk('recordCut', run, chunk, at));
    }),
  };
}

/** Makes `chunksIn`. */
export function chunkRead(db: StateDatabase): Pick<CheckpointReader, 'chunksIn'> {
  // Without INDEXED BY, SQLite would follow the primary key through all chunks of the run. With a bare `LIMIT ?`,
  // SQLite plans by its value and prepares the statement again at each call; `+ 0` avoids this.
  const inState = db.prepare<[string, ChunkState, number, number], StoredChunk>(`
    SELECT * FROM chunks INDEXED BY chunks_by_state
    WHERE run = ? AND state = ? AND number > ? ORDER BY number LIMIT ? + 0`);

  return {
    // One query for each state, because a query over several states would sort or scan the whole run.
    chunksIn: db.readTogether((run, states, after, limit) =>
      [...new Set(states)]
        .flatMap((state) => inState.all(run, state, after, limit))
        .sort((a, b) => a.number - b.number)
        .slice(0, limit)
        .map(toChunk),
    ),
  };
}
