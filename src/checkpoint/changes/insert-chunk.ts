/** Adds a chunk's row, and the records picked for it, under a number that the run does not have yet. */
import { packNumbers } from '../packed-numbers.js';
import type { NewChunk } from '../state.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';

export type InsertChunk = (method: string, run: string, chunk: NewChunk) => void;

/** The statements are prepared once; the insertion belongs into a transaction. */
export function chunkInsertion(db: StateDatabase): InsertChunk {
  const insert = db.prepare(`
    INSERT INTO chunks (run, number, round, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256)
    VALUES (@run, @number, @round, @firstRecord, @lastRecord, @records, @startFile, @startOffset,
      @endFile, @endOffset, @bytes, @sha256)
    ON CONFLICT DO NOTHING`);
  const insertPicked = db.prepare(
    'INSERT INTO picked_records (run, chunk, numbers) VALUES (@run, @number, @numbers)',
  );

  return (method, run, { start, end, picked, ...chunk }) => {
    const inserted = insert.run({
      run,
      ...chunk,
      round: picked?.round ?? 0,
      startFile: start.file,
      startOffset: start.offset,
      endFile: end.file,
      endOffset: end.offset,
    });
    expectOne(inserted, method, `run ${run} has a chunk ${chunk.number} already`);
    if (picked === null) return;
    insertPicked.run({ run, number: chunk.number, numbers: packNumbers(picked.numbers) });
  };
}
