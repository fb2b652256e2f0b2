/**
 * New chunks: cut from the source, then cut for rounds of failed records, or made by splitting a refused chunk. The
 * checkpoint gives each chunk its number.
 */
import type { Checkpoint } from '../../checkpoint.js';
import { expectHalves, type Parent, UNMERGE, valuesOfChunk } from '../../rows/chunk-rows.js';
import type { ChunkRow, NewChunk } from '../../state.js';
import { expectOneRow, expectRow, type StateDatabase } from '../state-database.js';
import { chunkChange } from './chunks.js';

/** Makes `recordCut`, `recordAllCut` and `recordRoundClosed`. */
export function cutChanges(
  db: StateDatabase,
): Pick<Checkpoint, 'recordCut' | 'recordAllCut' | 'recordRoundClosed'> {
  const insertChunk = chunkInsertion(db);
  const isNext = `id = @run AND state = 'open'
      AND @firstRecord > coalesce((SELECT last_record FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = @round AND state <> 'split' ORDER BY first_record DESC LIMIT 1), 0)`;
  // `chunks` is null until the source is cut completely.
  const admitOfSource = db.prepare(`SELECT 1 FROM runs WHERE chunks IS NULL AND ${isNext}`);
  const admitOfRound = db.prepare(`
    UPDATE runs SET chunks = chunks + 1
    WHERE chunks IS NOT NULL AND @round = round + 1 AND ${isNext} RETURNING 1`);
  const fixChunks = db.prepare(`
    UPDATE runs SET chunks = coalesce(chunks, (SELECT count(*) FROM chunks
      WHERE run = @run AND round = 0 AND state <> 'split'))
    WHERE id = @run AND state = 'open'`);
  const closeRound = db.prepare(`
    UPDATE runs SET round = @round
    WHERE id = @run AND state = 'open' AND round = @round - 1 AND NOT EXISTS (
      SELECT 1 FROM chunks INDEXED BY chunks_in_order
      WHERE run = @run AND round = @round AND state <> 'split'
        AND state NOT IN ('downloaded', 'unprocessed', 'refused'))`);
  const unmerge = db.prepare(UNMERGE);

  return {
    recordCut: db.unsyncedChange((run, chunk, at) => {
      const round = chunk.picked?.round ?? 0;
      const admit = round === 0 ? admitOfSource : admitOfRound;
      const missing = `run ${run} is not open, or the chunk is not the next of round ${round}`;
      expectRow(admit.get({ run, round, firstRecord: chunk.firstRecord }), 'recordCut', missing);
      return insertChunk('recordCut', run, chunk, at);
    }),
    recordAllCut: db.change((run) => {
      expectOneRow(fixChunks.run({ run }), 'recordAllCut', `no run ${run} that is open`);
    }),
    recordRoundClosed: db.change((run, round) => {
      const missing = `no open run ${run} whose next round is ${round}, with all its chunks answered or given up`;
      expectOneRow(closeRound.run({ run, round }), 'recordRoundClosed', missing);
      unmerge.run({ run, fromRecord: 1 });
    }),
  };
}

/** Makes `recordSplit` and `recordRefused`. */
export function refusalChanges(db: StateDatabase): Pick<Checkpoint, 'recordSplit' | 'recordRefused'> {
  const insertChunk = chunkInsertion(db);
  const split = db.prepare<[object], Parent>(`
    UPDATE chunks SET state = 'split'
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records > 1
      AND EXISTS (SELECT 1 FROM runs WHERE id = @run AND state = 'open')
    RETURNING round, first_record AS first, last_record AS last, records`);
  const picked = db
    .prepare<[string, number], Buffer>('SELECT numbers FROM picked_records WHERE run = ? AND chunk = ?')
    .pluck();
  const countOneMore = db.prepare('UPDATE runs SET chunks = chunks + 1 WHERE id = @run');
  const refuse = chunkChange(
    db,
    `UPDATE chunks SET state = 'refused', refusal = @refusal, successful = 0, failed = 1
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') AND records = 1`,
  );

  return {
    recordSplit: db.change((run, chunk, halves) => {
      const parent = split.get({ run, chunk });
      const packed = picked.get(run, chunk);
      expectHalves(run, chunk, parent, packed, halves);
      const [first, second] = halves;
      const rows = [insertChunk('recordSplit', run, first), insertChunk('recordSplit', run, second)] as const;
      countOneMore.run({ run });
      return rows;
    }),
    recordRefused: db.change((run, chunk, refusal) => {
      const missing = `no chunk ${chunk} of run ${run} of a single record that is cut or ambiguous`;
      return expectRow(refuse({ run, chunk, refusal }), 'recordRefused', missing);
    }),
  };
}

/** Adds the row of a chunk, and its picked records, with the run's next number. */
type InsertChunk = (method: string, run: string, chunk: NewChunk, at?: number) => ChunkRow;

/** Prepares the statements. The function must be called within a transaction. */
function chunkInsertion(db: StateDatabase): InsertChunk {
  const nextNumber = db
    .prepare<[string], number>('SELECT coalesce(max(number), 0) + 1 FROM chunks WHERE run = ?')
    .pluck();
  const insert = chunkChange(
    db,
    `INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256, cut_at)
    VALUES (@run, @number, @round, @firstRecord, @lastRecord, @records, @startFile, @startOffset,
      @endFile, @endOffset, @bytes, @sha256, @at)`,
  );
  const insertPicked = db.prepare(
    'INSERT INTO picked_records (run, chunk, numbers) VALUES (@run, @number, @numbers)',
  );

  return (method, run, added, at) => {
    const { numbers, ...values } = valuesOfChunk(method, run, added, at);
    const number = nextNumber.get(run)!;
    const chunk = insert({ ...values, number })!;
    if (numbers !== null) insertPicked.run({ run, number, numbers });
    return chunk;
  };
}
