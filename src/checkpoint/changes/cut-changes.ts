/** Cutting: chunks appear one after the other, until the whole source is cut. */
import type { Chunk } from '../../types.js';
import type { Checkpoint } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';

const LAST_NUMBER = '(SELECT coalesce(max(number), 0) FROM chunks WHERE run = @run)';

/** Makes `recordCut` and `recordAllCut`. */
export function cutChanges(db: StateDatabase): Pick<Checkpoint, 'recordCut' | 'recordAllCut'> {
  const insertChunk = db.prepare(`
    INSERT INTO chunks (run, number, first_record, last_record, records, start_file, start_offset,
      end_file, end_offset, bytes, sha256)
    SELECT id, @number, @firstRecord, @lastRecord, @records, @startFile, @startOffset,
      @endFile, @endOffset, @bytes, @sha256
    FROM runs
    WHERE id = @run AND state = 'open' AND chunks IS NULL AND @number = ${LAST_NUMBER} + 1`);
  const fixChunks = db.prepare(`
    UPDATE runs SET chunks = @chunks
    WHERE id = @run AND state = 'open' AND (chunks IS NULL OR chunks = @chunks)
      AND @chunks = ${LAST_NUMBER}`);

  return {
    recordCut: db.change((run: string, { start, end, ...chunk }: Chunk) => {
      const inserted = insertChunk.run({
        run,
        ...chunk,
        startFile: start.file,
        startOffset: start.offset,
        endFile: end.file,
        endOffset: end.offset,
      });
      expectOne(inserted, 'recordCut', `run ${run} is not open, or chunk ${chunk.number} is not its next`);
    }),
    recordAllCut: db.change((run: string, chunks: number) => {
      const missing = `run ${run} is not open, or has not just ${chunks} chunks`;
      expectOne(fixChunks.run({ run, chunks }), 'recordAllCut', missing);
    }),
  };
}
