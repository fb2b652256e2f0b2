/** Cutting: chunks appear one behind the other, of the source until it is cut whole, then of rounds. */
import type { Checkpoint } from '../checkpoint.js';
import type { NewChunk } from '../state.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';
import { chunkInsertion } from './insert-chunk.js';

/** Makes `recordCut` and `recordAllCut`. */
export function cutChanges(db: StateDatabase): Pick<Checkpoint, 'recordCut' | 'recordAllCut'> {
  const insertChunk = chunkInsertion(db);
  // Touches the run's row only where the chunk may be added: the source's own leave its number of chunks null.
  const admit = db.prepare(`
    UPDATE runs SET chunks = chunks + (@round > 0)
    WHERE id = @run AND state = 'open'
      AND CASE WHEN @round = 0 THEN chunks IS NULL ELSE chunks IS NOT NULL AND @round = round + 1 END
      AND @firstRecord > coalesce((SELECT last_record FROM chunks INDEXED BY chunks_in_order
        WHERE run = @run AND round = @round AND state <> 'split' ORDER BY first_record DESC LIMIT 1), 0)`);
  const fixChunks = db.prepare(`
    UPDATE runs SET chunks = coalesce(chunks, (SELECT count(*) FROM chunks
      WHERE run = @run AND round = 0 AND state <> 'split'))
    WHERE id = @run AND state = 'open'`);

  return {
    recordCut: db.redoableChange((run: string, chunk: NewChunk) => {
      const round = chunk.picked?.round ?? 0;
      const admitted = admit.run({ run, round, firstRecord: chunk.firstRecord });
      const missing = `run ${run} is not open, or chunk ${chunk.number} is not the next of round ${round}`;
      expectOne(admitted, 'recordCut', missing);
      return insertChunk('recordCut', run, chunk);
    }),
    recordAllCut: db.change((run: string) => {
      expectOne(fixChunks.run({ run }), 'recordAllCut', `no run ${run} that is open`);
    }),
  };
}
