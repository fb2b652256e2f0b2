/** Reads of chunks: by state, and in the order of the source. */
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CheckpointReader, ChunkState } from '../checkpoint.js';
import { type StoredChunk, toChunk, toChunkIfAny } from '../rows/chunk-rows.js';
import type { StateSession } from './state-session.js';

type ChunkRead = 'chunksIn' | 'nextChunk' | 'lastCut' | 'lastRound';

// A page for each state, because the index is ordered by number only within a state.
const inStates: Prepared<StoredChunk> = statement(`
  SELECT page.* FROM unnest(@states::text[]) AS wanted, LATERAL (
    SELECT * FROM chunks WHERE run = @run AND state = wanted AND number > @after
    ORDER BY number LIMIT @limit) AS page
  ORDER BY page.number LIMIT @limit`);

const OF_ROUND = `run = @run AND round = @round AND state <> 'split'`;

const next: Prepared<StoredChunk> = statement(`
  SELECT * FROM chunks
  WHERE ${OF_ROUND} AND last_record > @afterRecord
    AND first_record >= coalesce((
      SELECT first_record FROM chunks WHERE ${OF_ROUND} AND first_record <= @afterRecord
      ORDER BY first_record DESC LIMIT 1), 0)
  ORDER BY first_record LIMIT 1`);

const last: Prepared<StoredChunk> = statement(
  `SELECT * FROM chunks WHERE ${OF_ROUND} ORDER BY first_record DESC LIMIT 1`,
);

const lastRound: Prepared<{ round: number }> = statement(
  "SELECT coalesce(max(round), 0) AS round FROM chunks WHERE run = @run AND state <> 'split'",
);

export const pickedNumbers: Prepared<{ numbers: Buffer }> = statement(
  'SELECT numbers FROM picked_records WHERE run = @run AND chunk = @chunk',
);

/** Makes the reads of chunks. */
export function chunkReads(db: StateSession): Pick<CheckpointReader, ChunkRead> {
  return {
    chunksIn: async (run, states: readonly ChunkState[], after, limit) => {
      const wanted = `{${[...new Set(states)].join(',')}}`;
      return (await db.read(inStates, { run, states: wanted, after, limit })).map(toChunk);
    },
    nextChunk: async (run, round, afterRecord) =>
      toChunkIfAny((await db.read(next, { run, round, afterRecord }))[0]),
    lastCut: async (run, round) => toChunkIfAny((await db.read(last, { run, round }))[0]),
    lastRound: async (run) => (await db.read(lastRound, { run }))[0]!.round,
  };
}
