/** From a finished folio to a chunk whose parts are all on disk, or a chunk given up with its cause. */
import type { FolioCounts, PartReference, StoredPart, UnprocessedCause } from '../../types.js';
import type { Checkpoint } from '../checkpoint.js';
import { chunkRead } from '../reads/chunk-reads.js';
import type { StateDatabase } from '../state-database.js';
import { expectOne } from './expect-one.js';

type ResultMethod = 'recordFinished' | 'recordPart' | 'recordDownloaded' | 'recordUnprocessed';

/** Makes the four changes that end a chunk's dealings with the service. */
export function resultChanges(db: StateDatabase): Pick<Checkpoint, ResultMethod> {
  const chunkOf = chunkRead(db);
  // For more than two values in one IN, SQLite makes a table each time.
  const finish = db.prepare(`
    UPDATE chunks SET state = 'finished', successful = @successful, failed = @failed
    WHERE run = @run AND number = @chunk AND (state = 'submitted' OR state IN ('finished', 'downloaded'))
      AND merged_end IS NULL`);
  const forgetParts = db.prepare('DELETE FROM parts WHERE run = @run AND chunk = @chunk');
  const listPart = db.prepare(`
    INSERT INTO parts (run, chunk, file_status, part) VALUES (@run, @chunk, @fileStatus, @part)
    ON CONFLICT DO NOTHING`);
  const storePart = db.prepare(`
    UPDATE parts SET bytes = @bytes, sha256 = @sha256, records = @records
    WHERE run = @run AND chunk = @chunk AND file_status = @fileStatus AND part = @part AND EXISTS
      (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded'))`);
  const complete = db.prepare(`
    UPDATE chunks SET state = 'downloaded'
    WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') AND NOT EXISTS
      (SELECT 1 FROM parts WHERE run = @run AND chunk = @chunk AND sha256 IS NULL)`);
  const giveUp = db.prepare(`
    UPDATE chunks SET state = 'unprocessed', cause = @cause
    WHERE run = @run AND number = @chunk AND merged_end IS NULL
      AND state IN ('cut', 'ambiguous', 'submitted', 'finished', 'downloaded')`);

  return {
    recordFinished: db.redoableChange(
      (run: string, chunk: number, counts: FolioCounts, parts: readonly PartReference[]) => {
        const { successful, failed } = counts;
        const missing = `no chunk ${chunk} of run ${run} that has a folio and is not merged`;
        expectOne(finish.run({ run, chunk, successful, failed }), 'recordFinished', missing);
        forgetParts.run({ run, chunk });
        for (const { fileStatus, part } of parts) {
          const doubled = `${fileStatus} part ${part} of chunk ${chunk} of run ${run} is listed twice`;
          expectOne(listPart.run({ run, chunk, fileStatus, part }), 'recordFinished', doubled);
        }
        return chunkOf(run, chunk)!;
      },
    ),
    recordPart: db.redoableChange((run: string, chunk: number, stored: StoredPart) => {
      const { fileStatus, part, bytes, sha256, records } = stored;
      const missing = `no finished chunk ${chunk} of run ${run} that lists ${fileStatus} part ${part}`;
      expectOne(
        storePart.run({ run, chunk, fileStatus, part, bytes, sha256, records }),
        'recordPart',
        missing,
      );
    }),
    recordDownloaded: db.change((run: string, chunk: number) => {
      const missing = `no finished chunk ${chunk} of run ${run} with all its listed parts stored`;
      expectOne(complete.run({ run, chunk }), 'recordDownloaded', missing);
      return chunkOf(run, chunk)!;
    }),
    recordUnprocessed: db.change((run: string, chunk: number, cause: UnprocessedCause) => {
      const missing = `no chunk ${chunk} of run ${run} that can be given up`;
      expectOne(giveUp.run({ run, chunk, cause }), 'recordUnprocessed', missing);
      return chunkOf(run, chunk)!;
    }),
  };
}
