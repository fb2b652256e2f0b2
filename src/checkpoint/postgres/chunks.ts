/** Cutting: a chunk that follows on the last one; and the read of chunks by state. */
import { fenced, HELD } from '../../postgres/fenced.js';
import { listOf, type Prepared, statement } from '../../postgres/statement.js';
import type { Checkpoint, CheckpointReader, ChunkState } from '../checkpoint.js';
import { valuesOfChunk } from '../rows/chunk-changes.js';
import { type StoredChunk, toChunk } from '../rows/chunk-rows.js';
import type { StateSession } from './state-session.js';

// The run's row is locked, so that numbers are given one by one. `chunks` is null until the source is cut completely.
const cut = fenced<StoredChunk>(`
  admitted AS (
    SELECT id FROM runs
    WHERE id = @run AND state = 'open' AND ${HELD}
      AND CASE WHEN @round::int8 = 0 THEN chunks IS NULL ELSE chunks IS NOT NULL AND @round::int8 = round + 1 END
      AND @firstRecord::int8 > coalesce((SELECT last_record FROM chunks
        WHERE run = @run AND round = @round::int8 AND state <> 'split' ORDER BY first_record DESC LIMIT 1), 0)
    FOR UPDATE),
  counted AS (
    UPDATE runs SET chunks = chunks + 1 WHERE id IN (SELECT id FROM admitted) AND @round::int8 > 0),
  added AS (
    INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256, cut_at)
    SELECT @run, coalesce((SELECT max(number) FROM chunks WHERE run = @run), 0) + 1, @round::int8,
      @firstRecord::int8, @lastRecord::int8, @records::int8, @startFile::int8, @startOffset::int8,
      @endFile::int8, @endOffset::int8, @bytes::int8, @sha256::text, @at::int8
    FROM admitted RETURNING *),
  picked AS (
    INSERT INTO picked_records (run, chunk, numbers)
    SELECT run, number, @numbers::bytea FROM added WHERE @numbers::bytea IS NOT NULL)
  SELECT * FROM added`);

/** Makes `recordCut`. */
export function cutChange(db: StateSession): Pick<Checkpoint, 'recordCut'> {
  return {
    recordCut: async (run, chunk, at) => {
      const round = chunk.picked?.round ?? 0;
      const missing = `run ${run} is not open, or the chunk is not the next of round ${round}`;
      return toChunk(await db.change(cut, valuesOfChunk('recordCut', run, chunk, at), 'recordCut', missing));
    },
  };
}

// A page for each state, because the index is ordered by number only within a state.
const inStates: Prepared<StoredChunk> = statement(`
  SELECT page.* FROM unnest(@states::text[]) AS wanted, LATERAL (
    SELECT * FROM chunks WHERE run = @run AND state = wanted AND number > @after
    ORDER BY number LIMIT @limit) AS page
  ORDER BY page.number LIMIT @limit`);

/** Makes `chunksIn`. */
export function chunkRead(db: StateSession): Pick<CheckpointReader, 'chunksIn'> {
  return {
    chunksIn: async (run, states: readonly ChunkState[], after, limit) => {
      const values = { run, states: listOf(new Set(states)), after, limit };
      return (await db.read(inStates, values)).map(toChunk);
    },
  };
}
