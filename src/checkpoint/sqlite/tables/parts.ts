/** The parts of a chunk, from the finished folio to the downloaded chunk. */
import type { PartReference, StoredPart } from '../../../types.js';
import type { ResultChanges } from '../../change-groups.js';
import { expectRow } from '../../checkpoint-errors.js';
import { STORED_PARTS } from '../../rows/chunk-rows.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';
import { chunkChange } from './chunks.js';

/** Makes the three changes from a submitted chunk to its end, and the read of the parts that the download expects. */
export function resultChanges(db: StateDatabase): ResultChanges {
  const storedParts = db.prepare<object, StoredPart>(STORED_PARTS);
  const listedParts = db.prepare<[string, number], PartReference>(`
    SELECT file_status AS fileStatus, part FROM parts WHERE run = ? AND chunk = ? ORDER BY file_status DESC, part`);
  const finish = chunkChange(
    db,
    `UPDATE chunks SET state = 'finished', successful = @successful, failed = @failed, finished_at = @at
    WHERE run = @run AND number = @chunk AND state = 'submitted'`,
  );
  const forgetParts = db.prepare('DELETE FROM parts WHERE run = @run AND chunk = @chunk');
  const insertPart = db.prepare(`
    INSERT INTO parts (run, chunk, file_status, part, bytes, sha256, records)
    VALUES (@run, @chunk, @fileStatus, @part, @bytes, @sha256, @records) ON CONFLICT DO NOTHING`);
  const storePart = db.prepare(`
    UPDATE parts SET bytes = @bytes, sha256 = @sha256, records = @records
    WHERE run = @run AND chunk = @chunk AND file_status = @fileStatus AND part = @part AND EXISTS
      (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND state = 'finished')`);
  const complete = chunkChange(
    db,
    `UPDATE chunks SET state = 'downloaded', downloaded_at = @at
    WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') AND NOT EXISTS
      (SELECT 1 FROM parts WHERE run = @run AND chunk = @chunk AND sha256 IS NULL)`,
  );

  return {
    listedParts: db.read((run, chunk) => listedParts.all(run, chunk)),
    recordFinished: db.unsyncedChange((run, chunk, counts, parts, at) => {
      const { successful, failed } = counts;
      const missing = `no chunk ${chunk} of run ${run} that is submitted`;
      const values = { run, chunk, successful, failed, at: at ?? null };
      const finished = expectRow(finish(values), 'recordFinished', missing);
      const stored = storedParts.all({ run, chunk });
      forgetParts.run({ run, chunk });
      for (const { fileStatus, part } of parts) {
        const isThis = (one: PartReference) => one.fileStatus === fileStatus && one.part === part;
        const listed = stored.find(isThis) ?? { ...NOT_STORED, fileStatus, part };
        const doubled = `${fileStatus} part ${part} of chunk ${chunk} of run ${run} is listed twice`;
        expectOneRow(insertPart.run({ ...listed, run, chunk }), 'recordFinished', doubled);
      }
      return finished;
    }),
    recordParts: db.unsyncedChange((run, chunk, parts) => {
      for (const { fileStatus, part, bytes, sha256, records } of parts) {
        const stored = storePart.run({ run, chunk, fileStatus, part, bytes, sha256, records });
        const missing = `no finished chunk ${chunk} of run ${run} that lists ${fileStatus} part ${part}`;
        expectOneRow(stored, 'recordParts', missing);
      }
    }),
    recordDownloaded: db.change((run, chunk, at) => {
      const missing = `no finished chunk ${chunk} of run ${run} with all its listed parts stored`;
      return expectRow(complete({ run, chunk, at: at ?? null }), 'recordDownloaded', missing);
    }),
  };
}

/** A listed part that is not stored yet. */
const NOT_STORED = { bytes: null, sha256: null, records: null };
