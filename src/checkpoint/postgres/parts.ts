/** The parts of a chunk, from the finished folio to the downloaded chunk; and giving up a chunk, with its cause. */
import { fenced, HELD } from '../../postgres/fenced.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { PartReference, StoredPart } from '../../types.js';
import type { Checkpoint } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-errors.js';
import { type StoredChunk, toChunk } from '../rows/chunk-rows.js';
import { unmerge } from './merges.js';
import { expectRow, type StateSession } from './state-session.js';

const LISTED = 'unnest(@statuses::text[], @numbers::int8[]) AS named (status, number)';

const finish = fenced<StoredChunk>(`
  finished AS (
    UPDATE chunks SET state = 'finished', successful = @successful, failed = @failed, finished_at = @at
    WHERE run = @run AND number = @chunk AND state = 'submitted' AND ${HELD} RETURNING *),
  forgotten AS (
    DELETE FROM parts WHERE run = @run AND chunk = @chunk AND EXISTS (SELECT FROM finished)
      AND (file_status, part) NOT IN (SELECT status, number FROM ${LISTED})),
  listed AS (
    INSERT INTO parts (run, chunk, file_status, part)
    SELECT @run, @chunk, status, named.number FROM ${LISTED}, finished ON CONFLICT DO NOTHING)
  SELECT * FROM finished`);

const storePart = fenced(`
  stored AS (
    UPDATE parts SET bytes = @bytes, sha256 = @sha256, records = @records
    WHERE run = @run AND chunk = @chunk AND file_status = @fileStatus AND part = @part AND ${HELD}
      AND EXISTS (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND state = 'finished')
    RETURNING part)
  SELECT part FROM stored`);

const complete = fenced<StoredChunk>(`
  completed AS (
    UPDATE chunks SET state = 'downloaded', downloaded_at = @at
    WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') AND ${HELD} AND NOT EXISTS
      (SELECT 1 FROM parts WHERE run = @run AND chunk = @chunk AND sha256 IS NULL)
    RETURNING *)
  SELECT * FROM completed`);

const giveUp = fenced<StoredChunk>(`
  given_up AS (
    UPDATE chunks SET state = 'unprocessed', cause = @cause
    WHERE run = @run AND number = @chunk AND ${HELD}
      AND (round > 0 OR NOT EXISTS (SELECT 1 FROM stretches AS merged
        WHERE merged.run = @run AND merged.first_record <= chunks.last_record
          AND merged.last_record >= chunks.first_record))
      AND state IN ('cut', 'ambiguous', 'submitted', 'finished', 'downloaded')
    RETURNING *)
  SELECT * FROM given_up`);

const replace: Prepared<StoredChunk> = statement(`
  UPDATE chunks SET state = 'downloaded', successful = @successful, failed = @failed
  WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') RETURNING *`);
const forgetParts = statement('DELETE FROM parts WHERE run = @run AND chunk = @chunk');
const insertPart = statement(`
  INSERT INTO parts (run, chunk, file_status, part, bytes, sha256, records)
  VALUES (@run, @chunk, @fileStatus, @part, @bytes, @sha256, @records)`);

// SUCCESSFUL sorts after FAILED.
const SUCCESSFUL_FIRST = 'ORDER BY file_status DESC, part';
const stored: Prepared<StoredPart> = statement(`
  SELECT file_status AS "fileStatus", part, bytes, sha256, records FROM parts
  WHERE run = @run AND chunk = @chunk AND sha256 IS NOT NULL ${SUCCESSFUL_FIRST}`);
const listed: Prepared<PartReference> = statement(`
  SELECT file_status AS "fileStatus", part FROM parts WHERE run = @run AND chunk = @chunk ${SUCCESSFUL_FIRST}`);

type ResultMethod =
  | 'recordFinished'
  | 'recordPart'
  | 'recordDownloaded'
  | 'recordRefetched'
  | 'recordUnprocessed';

/** Makes the five changes from a submitted chunk to its end. */
export function resultChanges(db: StateSession): Pick<Checkpoint, ResultMethod> {
  return {
    recordFinished: async (run, chunk, { successful, failed }, parts, at) => {
      refuseDoubled('recordFinished', run, chunk, parts);
      const statuses = `{${parts.map(({ fileStatus }) => fileStatus).join(',')}}`;
      const numbers = `{${parts.map(({ part }) => part).join(',')}}`;
      const values = { run, chunk, successful, failed, statuses, numbers, at: at ?? null };
      const missing = `no chunk ${chunk} of run ${run} that is submitted`;
      return toChunk(await db.change(finish, values, 'recordFinished', missing));
    },
    recordPart: async (run, chunk, { fileStatus, part, bytes, sha256, records }) => {
      const missing = `no finished chunk ${chunk} of run ${run} that lists ${fileStatus} part ${part}`;
      const values = { run, chunk, fileStatus, part, bytes, sha256, records };
      await db.change(storePart, values, 'recordPart', missing);
    },
    recordRefetched: (run, chunk, { successful, failed }, parts) =>
      db.changes(async (query) => {
        refuseDoubled('recordRefetched', run, chunk, parts);
        const missing = `no chunk ${chunk} of run ${run} that is finished or downloaded`;
        const rows = await query(replace, { run, chunk, successful, failed });
        const row = expectRow(rows, 'recordRefetched', missing);
        await query(forgetParts, { run, chunk });
        for (const { fileStatus, part, bytes, sha256, records } of parts) {
          await query(insertPart, { run, chunk, fileStatus, part, bytes, sha256, records });
        }
        if (row.round === 0) await query(unmerge, { run, fromRecord: row.first_record });
        return toChunk(row);
      }),
    recordDownloaded: async (run, chunk, at) => {
      const missing = `no finished chunk ${chunk} of run ${run} with all its listed parts stored`;
      return toChunk(await db.change(complete, { run, chunk, at: at ?? null }, 'recordDownloaded', missing));
    },
    recordUnprocessed: async (run, chunk, cause) => {
      const missing = `no chunk ${chunk} of run ${run} that can be given up`;
      return toChunk(await db.change(giveUp, { run, chunk, cause }, 'recordUnprocessed', missing));
    },
  };
}

function refuseDoubled(
  method: ResultMethod,
  run: string,
  chunk: number,
  parts: readonly PartReference[],
): void {
  const names = parts.map(({ fileStatus, part }) => `${fileStatus} part ${part}`);
  const doubled = names.find((name, at) => names.indexOf(name) < at);
  if (doubled === undefined) return;
  throw new CheckpointStateError(method, `${doubled} of chunk ${chunk} of run ${run} is listed twice`);
}

/** Makes `parts` and `listedParts`. */
export function partReads(db: StateSession): Pick<Checkpoint, 'parts' | 'listedParts'> {
  return {
    parts: (run, chunk) => db.read(stored, { run, chunk }),
    listedParts: (run, chunk) => db.read(listed, { run, chunk }),
  };
}
