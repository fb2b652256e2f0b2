/**
 * New chunks: cut from the source, then cut for rounds of failed records, or made by splitting a refused chunk. The
 * checkpoint gives each chunk its number.
 */
import { fenced, HELD } from '../../postgres/fenced.js';
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { Checkpoint } from '../checkpoint.js';
import { expectHalves, type Parent, type StoredChunk, toChunk, valuesOfChunk } from '../rows/chunk-rows.js';
import type { ChunkRow, NewChunk } from '../state.js';
import { pickedNumbers } from './chunks.js';
import { unmerge } from './merges.js';
import { expectRow, type StateSession } from './state-session.js';

/** Adds the row of a chunk and its picked records with the run's next number. @param from a row for each chunk. */
const insertion = (from: string) => `
  added AS (
    INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256, cut_at)
    SELECT @run, coalesce((SELECT max(number) FROM chunks WHERE run = @run), 0) + 1, @round::int8,
      @firstRecord::int8, @lastRecord::int8, @records::int8, @startFile::int8, @startOffset::int8,
      @endFile::int8, @endOffset::int8, @bytes::int8, @sha256::text, @at::int8
    FROM ${from} RETURNING *),
  picked AS (
    INSERT INTO picked_records (run, chunk, numbers)
    SELECT run, number, @numbers::bytea FROM added WHERE @numbers::bytea IS NOT NULL)
  SELECT * FROM added`;

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
  ${insertion('admitted')}`);

const insertHalf: Prepared<StoredChunk> = statement(`WITH ${insertion('(SELECT 1) AS one')}`);

const fixChunks = fenced(`
  fixed AS (
    UPDATE runs SET chunks = coalesce(chunks, (SELECT count(*) FROM chunks
      WHERE run = @run AND round = 0 AND state <> 'split'))
    WHERE id = @run AND state = 'open' AND ${HELD} RETURNING id)
  SELECT * FROM fixed`);

const closeRound = statement(`
  UPDATE runs SET round = @round
  WHERE id = @run AND state = 'open' AND round = @round - 1 AND NOT EXISTS (
    SELECT 1 FROM chunks
    WHERE run = @run AND round = @round AND state <> 'split'
      AND state NOT IN ('downloaded', 'unprocessed', 'refused'))
  RETURNING id`);

const split: Prepared<Parent> = statement(`
  UPDATE chunks SET state = 'split'
  WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records > 1
    AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state = 'open')
  RETURNING round, first_record AS first, last_record AS last, records`);

const countOneMore = statement('UPDATE runs SET chunks = chunks + 1 WHERE id = @run');

const refuse = fenced<StoredChunk>(`
  refused AS (
    UPDATE chunks SET state = 'refused', refusal = @refusal, successful = 0, failed = 1
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records = 1 AND ${HELD}
    RETURNING *)
  SELECT * FROM refused`);

type CutMethod = 'recordCut' | 'recordAllCut' | 'recordRoundClosed' | 'recordSplit' | 'recordRefused';

/** Makes the changes that add chunks or close their cutting. */
export function cutChanges(db: StateSession): Pick<Checkpoint, CutMethod> {
  return {
    recordCut: async (run, chunk, at) => {
      const round = chunk.picked?.round ?? 0;
      const missing = `run ${run} is not open, or the chunk is not the next of round ${round}`;
      return toChunk(await db.change(cut, valuesOfChunk('recordCut', run, chunk, at), 'recordCut', missing));
    },
    recordAllCut: async (run) => {
      await db.change(fixChunks, { run }, 'recordAllCut', `no run ${run} that is open`);
    },
    recordRoundClosed: (run, round) =>
      db.changes(async (query) => {
        const missing = `no open run ${run} whose next round is ${round}, with all its chunks answered or given up`;
        expectRow(await query(closeRound, { run, round }), 'recordRoundClosed', missing);
        await query(unmerge, { run, fromRecord: 1 });
      }),
    recordSplit: (run, chunk, halves) =>
      db.changes(async (query) => {
        const [parent] = await query(split, { run, chunk });
        const [packed] = await query(pickedNumbers, { run, chunk });
        expectHalves(run, chunk, parent, packed?.numbers, halves);
        const [first, second] = halves;
        const rows = [await addHalf(query, run, first), await addHalf(query, run, second)] as const;
        await query(countOneMore, { run });
        return rows;
      }),
    recordRefused: async (run, chunk, refusal) => {
      const missing = `no chunk ${chunk} of run ${run} of a single record that is cut or ambiguous`;
      return toChunk(await db.change(refuse, { run, chunk, refusal }, 'recordRefused', missing));
    },
  };
}

async function addHalf(query: Query, run: string, half: NewChunk): Promise<ChunkRow> {
  const [row] = await query(insertHalf, valuesOfChunk('recordSplit', run, half));
  return toChunk(row!);
}
