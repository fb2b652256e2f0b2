/**
 * The results of chunks: the parts, from the finished folio to the downloaded chunk; then stretches, whose rows are in the
 * work file. Invariant: stretches are the first records of the source, without a gap.
 */
import { fenced, HELD } from '../../postgres/fenced.js';
import { listOf, type Prepared, statement } from '../../postgres/statement.js';
import type { PartReference } from '../../types.js';
import type { ResultChanges } from '../checkpoint.js';
import { CheckpointStateError } from '../checkpoint-errors.js';
import { mergeRefused, type StoredChunk, toChunk, toStoredStretch } from '../rows/chunk-rows.js';
import type { StateSession } from './state-session.js';

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

const storeParts = fenced(`
  given AS (
    SELECT * FROM unnest(@statuses::text[], @numbers::int8[], @bytes::int8[], @hashes::text[], @records::int8[])
      AS given (status, number, bytes, sha256, records)),
  stored AS (
    UPDATE parts SET bytes = given.bytes, sha256 = given.sha256, records = given.records FROM given
    WHERE run = @run AND chunk = @chunk AND file_status = status AND part = number AND ${HELD}
      AND EXISTS (SELECT 1 FROM chunks WHERE run = @run AND number = @chunk AND state = 'finished')
      AND NOT EXISTS (SELECT FROM given WHERE (status, number) NOT IN
        (SELECT file_status, part FROM parts WHERE run = @run AND chunk = @chunk))
    RETURNING part)
  SELECT part FROM stored`);

const complete = fenced<StoredChunk>(`
  completed AS (
    UPDATE chunks SET state = 'downloaded', downloaded_at = @at
    WHERE run = @run AND number = @chunk AND state IN ('finished', 'downloaded') AND ${HELD} AND NOT EXISTS
      (SELECT 1 FROM parts WHERE run = @run AND chunk = @chunk AND sha256 IS NULL)
    RETURNING *)
  SELECT * FROM completed`);

// The first chunk that is not merged yet must not begin before the stretch, and no chunk in it may lack its answer.
const merge = fenced(`
  before AS (
    SELECT coalesce((SELECT last_record FROM stretches WHERE run = @run
      ORDER BY first_record DESC LIMIT 1), 0) AS last),
  merged AS (
    INSERT INTO stretches (run, first_record, last_record, records, end_file, end_offset, work_end, sha256,
      successful, failed, unprocessed, indistinct, reused_successful, reused_failed,
      duplicate_successful, duplicate_failed, duplicate_unprocessed, skipped, reasons, merged_at)
    SELECT @run, @firstRecord, @lastRecord, @records::int8, @endFile::int8, @endOffset::int8, @workEnd::int8,
      @sha256::text, @successful::int8, @failed::int8, @unprocessed::int8, @indistinct::int8,
      @reusedSuccessful::int8, @reusedFailed::int8, @duplicateSuccessful::int8, @duplicateFailed::int8,
      @duplicateUnprocessed::int8, @skipped::int8, @reasons::text, @at::int8
    FROM before
    WHERE ${HELD} AND EXISTS (SELECT 1 FROM runs WHERE id = @run)
      AND last < @firstRecord AND @firstRecord <= @lastRecord
      AND @records::int8 = @successful::int8 + @failed::int8 + @unprocessed::int8
      AND NOT EXISTS (
        SELECT 1 FROM chunks
        WHERE run = @run AND round = 0 AND state <> 'split'
          AND first_record > last AND first_record < @firstRecord)
      AND NOT EXISTS (
        SELECT 1 FROM chunks
        WHERE run = @run AND round = 0 AND state <> 'split' AND first_record <= @lastRecord
          AND first_record >= coalesce((
            SELECT first_record FROM chunks
            WHERE run = @run AND round = 0 AND state <> 'split' AND first_record <= @firstRecord
            ORDER BY first_record DESC LIMIT 1), 0)
          AND last_record >= @firstRecord
          AND state NOT IN ('downloaded', 'unprocessed', 'refused'))
    RETURNING first_record)
  SELECT * FROM merged`);

const listed: Prepared<PartReference> = statement(`
  SELECT file_status AS "fileStatus", part FROM parts
  WHERE run = @run AND chunk = @chunk ORDER BY file_status DESC, part`);

/** Makes the four changes from a submitted chunk to its merged rows, and the read of the parts that the download expects. */
export function resultChanges(db: StateSession): ResultChanges {
  return {
    listedParts: (run, chunk) => db.read(listed, { run, chunk }),
    recordFinished: async (run, chunk, { successful, failed }, parts, at) => {
      refuseDoubled(run, chunk, parts);
      const statuses = listOf(parts.map(({ fileStatus }) => fileStatus));
      const numbers = listOf(parts.map(({ part }) => part));
      const values = { run, chunk, successful, failed, statuses, numbers, at: at ?? null };
      const missing = `no chunk ${chunk} of run ${run} that is submitted`;
      return toChunk(await db.change(finish, values, 'recordFinished', missing));
    },
    recordParts: async (run, chunk, parts) => {
      const named = parts.map(({ fileStatus, part }) => `${fileStatus} part ${part}`).join(', ');
      const missing = `no finished chunk ${chunk} of run ${run} that lists ${named}`;
      const values = {
        statuses: listOf(parts.map(({ fileStatus }) => fileStatus)),
        numbers: listOf(parts.map(({ part }) => part)),
        bytes: listOf(parts.map(({ bytes }) => bytes)),
        hashes: listOf(parts.map(({ sha256 }) => sha256)),
        records: listOf(parts.map(({ records }) => records)),
      };
      await db.change(storeParts, { run, chunk, ...values }, 'recordParts', missing);
    },
    recordDownloaded: async (run, chunk, at) => {
      const missing = `no finished chunk ${chunk} of run ${run} with all its listed parts stored`;
      return toChunk(await db.change(complete, { run, chunk, at: at ?? null }, 'recordDownloaded', missing));
    },
    recordMerged: async (run, stretch, at) => {
      await db.change(merge, toStoredStretch(run, stretch, at), 'recordMerged', mergeRefused(run, stretch));
    },
  };
}

function refuseDoubled(run: string, chunk: number, parts: readonly PartReference[]): void {
  const known = new Set<string>();
  for (const { fileStatus, part } of parts) {
    const name = `${fileStatus} part ${part}`;
    if (known.has(name)) {
      throw new CheckpointStateError(
        'recordFinished',
        `${name} of chunk ${chunk} of run ${run} is listed twice`,
      );
    }
    known.add(name);
  }
}
