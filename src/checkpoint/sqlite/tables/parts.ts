/** The parts of a chunk, from the finished folio to the downloaded chunk; and giving up a chunk, with its cause. */
import type { PartReference, StoredPart } from '../../../types.js';
import type { ResultChanges } from '../../change-groups.js';
import { STORED_PARTS, UNMERGE } from '../../rows/chunk-rows.js';
import { expectOneRow, expectRow, type StateDatabase } from '../state-database.js';
import { chunkChange } from './chunks.js';

/** Makes the five changes from a submitted chunk to its end, and the read of the parts that the download expects. */
export function resultChanges(db: StateDatabase): ResultChanges {
  const storedParts = db.prepare<object, StoredPart>(STORED_PARTS);
  const listedParts = db.prepare<[string, number], PartReference>(`
    SELECT file_status AS fileStatus, part FROM parts WHERE run = ? AND chunk = ? ORDER BY file_status DESC, part`);
  const finish = chunkChange(
    db,
    `UPDATE chunks SET state = 'finished', successful = @successful, failed = @failed, finished_at = @at
    WHERE run = @run AND number = @chunk AND state = 'submitted'`,
  );
  const replace = chunkChange(
    db,
    `UPDATE chunks SET state = 'downloaded', successful = @successful, failed = @failed
    WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded')`,
  );
  const unmerge = db.prepare(UNMERGE);
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
  const giveUp = chunkChange(
    db,
    `UPDATE chunks SET state = 'unprocessed', cause = @cause
    WHERE run = @run AND number = @chunk AND (round > 0 OR NOT EXISTS (SELECT 1 FROM stretches AS merged
        WHERE merged.run = @run AND merged.first_record <= chunks.last_record
          AND merged.last_record >= chunks.first_record))
      AND state IN ('cut', 'ambiguous', 'submitted', 'finished', 'downloaded')`,
  );

  /** Replaces all listed parts. A part without size and hash is not stored yet. */
  const listParts = (
    method: keyof ResultChanges,
    run: string,
    chunk: number,
    parts: readonly (PartReference | StoredPart)[],
  ) => {
    forgetParts.run({ run, chunk });
    for (const part of parts) {
      const { fileStatus, part: number } = part;
      const doubled = `${fileStatus} part ${number} of chunk ${chunk} of run ${run} is listed twice`;
      expectOneRow(insertPart.run({ ...NOT_STORED, run, chunk, ...part }), method, doubled);
    }
  };

  return {
    listedParts: db.read((run, chunk) => listedParts.all(run, chunk)),
    recordFinished: db.unsyncedChange((run, chunk, counts, parts, at) => {
      const { successful, failed } = counts;
      const missing = `no chunk ${chunk} of run ${run} that is submitted`;
      const values = { run, chunk, successful, failed, at: at ?? null };
      const finished = expectRow(finish(values), 'recordFinished', missing);
      const stored = storedParts.all({ run, chunk });
      const listed = parts.map(({ fileStatus, part }) => {
        const isThis = (one: PartReference) => one.fileStatus === fileStatus && one.part === part;
        return stored.find(isThis) ?? { fileStatus, part };
      });
      listParts('recordFinished', run, chunk, listed);
      return finished;
    }),
    recordParts: db.unsyncedChange((run, chunk, parts) => {
      for (const { fileStatus, part, bytes, sha256, records } of parts) {
        const stored = storePart.run({ run, chunk, fileStatus, part, bytes, sha256, records });
        const missing = `no finished chunk ${chunk} of run ${run} that lists ${fileStatus} part ${part}`;
        expectOneRow(stored, 'recordParts', missing);
      }
    }),
    recordRefetched: db.change((run, chunk, counts, parts) => {
      const { successful, failed } = counts;
      const missing = `no chunk ${chunk} of run ${run} that is finished or downloaded`;
      const replaced = expectRow(replace({ run, chunk, successful, failed }), 'recordRefetched', missing);
      listParts('recordRefetched', run, chunk, parts);
      if (replaced.round === 0) unmerge.run({ run, fromRecord: replaced.firstRecord });
      return replaced;
    }),
    recordDownloaded: db.change((run, chunk, at) => {
      const missing = `no finished chunk ${chunk} of run ${run} with all its listed parts stored`;
      return expectRow(complete({ run, chunk, at: at ?? null }), 'recordDownloaded', missing);
    }),
    recordUnprocessed: db.change((run, chunk, cause) => {
      const missing = `no chunk ${chunk} of run ${run} that can be given up`;
      return expectRow(giveUp({ run, chunk, cause }), 'recordUnprocessed', missing);
    }),
  };
}

/** A listed part that is not stored yet. */
const NOT_STORED = { bytes: null, sha256: null, records: null };
