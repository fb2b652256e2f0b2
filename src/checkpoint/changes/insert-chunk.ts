/** Adds a chunk's row, and the records picked for it, under a number that the run does not have yet. */
import { CheckpointStateError } from '../checkpoint-state-error.js';
import { packNumbers } from '../packed-numbers.js';
import { chunkRead } from '../reads/chunk-reads.js';
import type { ChunkRow, NewChunk } from '../state.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';

export type InsertChunk = (method: string, run: string, chunk: NewChunk) => ChunkRow;

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

  const chunkOf = chunkRead(db);

  return (method, run, added) => {
    const { start, end, picked, ...chunk } = added;
    if (!isNumbered(chunk.number) || !holdsWhatIsPicked(added)) {
      const other = `chunk ${chunk.number} of run ${run} has no such number, or other records than were picked`;
      throw new CheckpointStateError(method, other);
    }
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
    if (picked !== null) {
      insertPicked.run({ run, number: chunk.number, numbers: packNumbers(picked.numbers) });
    }
    return chunkOf(run, chunk.number)!;
  };
}

function isNumbered(number: number): boolean {
  return Number.isSafeInteger(number) && number > 0;
}

/** What is packed can be unpacked only where it ascends. */
function holdsWhatIsPicked({ picked, firstRecord, lastRecord, records }: NewChunk): boolean {
  if (picked === null) return true;
  const { round, numbers } = picked;
  return (
    round > 0 &&
    numbers.length === records &&
    numbers[0] === firstRecord &&
    numbers.at(-1) === lastRecord &&
    numbers.every((number, at) => at === 0 || number > numbers[at - 1]!)
  );
}
