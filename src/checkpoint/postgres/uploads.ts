/**
 * Upload attempts. An attempt's row and its chunk's state change in one transaction (rule "Intent first",
 * docs/architecture.md#intent-first). The process that has sent an attempt records its outcome, even if the lease has
 * passed to another process meanwhile, which has marked the attempt ambiguous: a folio is never lost.
 */
import { fenced, HELD } from '../../postgres/fenced.js';
import type { Query } from '../../postgres/session.js';
import { type Prepared, statement } from '../../postgres/statement.js';
import type { CheckpointReader, UploadChanges } from '../checkpoint.js';
import { expectRow } from '../rows/change.js';
import { CHUNK_BY_NUMBER, type StoredChunk, toChunk } from '../rows/chunk-rows.js';
import {
  hasCaps,
  IS_UNUSUAL,
  type StoredUpload,
  toUpload,
  toUploadIfAny,
  UPLOAD_COLUMNS,
} from '../rows/paid-rows.js';
import { refuseOverBudget, spend } from './spending.js';
import { intend, type StateSession } from './state-session.js';

/** A chunk that may be sent. */
const SENDABLE = "run = @run AND number = @chunk AND state IN ('cut', 'ambiguous')";

const chunkByNumber: Prepared<StoredChunk> = statement(CHUNK_BY_NUMBER);

const sendable: Prepared<{ records: number }> = statement(`SELECT records FROM chunks WHERE ${SENDABLE}`);

const begin = fenced<{ attempt: number; records: number }>(`
  begun AS (
    UPDATE chunks SET state = 'uploading', attempt = attempt + 1
    WHERE ${SENDABLE} AND ${HELD}
    RETURNING attempt, records),
  intended AS (
    INSERT INTO uploads (run, chunk, attempt, file_name, records, started_at, day)
    SELECT @run, @chunk, attempt, @before::text || attempt::text || @after::text, records, @at::int8, @day::text
    FROM begun),
  permitted AS (DELETE FROM reserved_permits WHERE run = @run AND chunk = @chunk AND EXISTS (SELECT FROM begun)),
  paid AS (${spend('SELECT pipeline, @day::text, @run, begun.records FROM begun, runs WHERE id = @run')})
  SELECT attempt, records FROM begun`);

/** The attempt whose intent the database may have recorded before the connection was lost. */
const intended: Prepared<{ attempt: number }> = statement(
  "SELECT attempt FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'intent' AND started_at = @at",
);

/** The attempt that is about to be sent, or is being sent, by its chunk. */
const uploading: Prepared<{ attempt: number }> = statement(
  "SELECT attempt FROM chunks WHERE run = @run AND number = @chunk AND state = 'uploading'",
);

const OF_ATTEMPT = 'run = @run AND chunk = @chunk AND attempt = @attempt';
/** The attempt while its outcome is unknown. A process that has taken over may have marked it ambiguous. */
const OPEN_ATTEMPT = `${OF_ATTEMPT} AND state IN ('intent', 'ambiguous')`;
/** The chunk, unless a process that has taken over is sending it again: then it belongs to that attempt. */
const OPEN_CHUNK = `run = @run AND number = @chunk
      AND (attempt = @attempt AND state = 'uploading' OR state = 'ambiguous')`;

const late = (column: string) => `(SELECT ${column} FROM uploads AS late
        WHERE late.run = chunks.run AND late.chunk = chunks.number AND late.state = 'accepted'
        ORDER BY late.attempt DESC LIMIT 1)`;
/**
 * Changes the chunk of an attempt that got no folio. A process that had lost its lease may have recorded the folio of
 * an earlier attempt meanwhile: then the chunk continues with that folio.
 * @param otherwise its state if there is none.
 */
const withoutFolio = (otherwise: string) => `
    UPDATE chunks SET state = CASE WHEN ${late('attempt')} IS NULL THEN ${otherwise} ELSE 'submitted' END,
      folio = ${late('folio')}, submitted_at = ${late('ended_at')}`;

/** The state is null while the chunk is being sent again, or once it has the folio of another attempt. */
type Submitted = StoredChunk | { readonly state: null };

const accept: Prepared<Submitted> = statement(`
  WITH accepted AS (
    UPDATE uploads SET state = 'accepted', doubt = NULL, folio = @folio, local = @local::int2,
      service_records = @serviceRecords, ended_at = @at
    WHERE ${OPEN_ATTEMPT} RETURNING attempt),
  submitted AS (
    UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at
    WHERE ${OPEN_CHUNK} AND EXISTS (SELECT FROM accepted) RETURNING *),
  marked AS (
    UPDATE runs SET rehearsal = 1
    WHERE id = @run AND @local::int2 = 1 AND rehearsal = 0 AND EXISTS (SELECT FROM accepted))
  SELECT submitted.* FROM accepted LEFT JOIN submitted ON true`);

const knownFolio: Prepared<Submitted> = statement(
  `SELECT NULL AS state FROM uploads WHERE ${OF_ATTEMPT} AND state = 'accepted' AND folio = @folio`,
);

const drop = statement(`
  WITH dropped AS (
    UPDATE uploads SET state = 'dropped', doubt = NULL, ended_at = @at WHERE ${OPEN_ATTEMPT} RETURNING records, day),
  back AS (
    ${withoutFolio(`CASE
      WHEN EXISTS (SELECT 1 FROM uploads
        WHERE run = @run AND chunk = @chunk AND attempt <> @attempt AND state = 'ambiguous')
      THEN 'ambiguous' ELSE 'cut' END`)}
    WHERE ${OPEN_CHUNK} AND EXISTS (SELECT FROM dropped)),
  refunded AS (${spend('SELECT pipeline, dropped.day, @run, -dropped.records FROM dropped, runs WHERE id = @run')})
  SELECT day FROM dropped`);

const knownDropped = statement(`SELECT day FROM uploads WHERE ${OF_ATTEMPT} AND state = 'dropped'`);

const markAmbiguous = statement(`
  WITH doubted AS (
    UPDATE uploads SET state = 'ambiguous', doubt = @doubt, ended_at = @at WHERE ${OPEN_ATTEMPT} RETURNING attempt),
  marked AS (
    ${withoutFolio("'ambiguous'")} WHERE ${OPEN_CHUNK} AND EXISTS (SELECT FROM doubted))
  SELECT attempt FROM doubted`);

// Attempts before chunks, as in the statements that record an outcome: otherwise they could deadlock.
const interrupt = fenced<{ chunks: number }>(`
  doubted AS (
    UPDATE uploads SET state = 'ambiguous', doubt = 'no-reply' WHERE run = @run AND state = 'intent' AND ${HELD}
    RETURNING chunk),
  asked AS (
    UPDATE searches SET state = 'ambiguous' WHERE run = @run AND state = 'intent' AND ${HELD}),
  marked AS (
    ${withoutFolio("'ambiguous'")}
    WHERE run = @run AND state = 'uploading' AND ${HELD} AND (SELECT count(*) FROM doubted) >= 0 RETURNING state)
  SELECT (SELECT count(*) FROM marked WHERE state = 'ambiguous') AS chunks FROM held`);

const NOT_KNOWN_YET = { folio: null, local: null, serviceRecords: null, doubt: null, endedAt: null } as const;

/** Makes the five changes between `cut` and `submitted`. */
export function uploadChanges(db: StateSession): UploadChanges {
  /** The attempts that this process has begun and that have not ended. */
  const sent = new Map<string, number>();
  const keyOf = (run: string, chunk: number) => `${run} ${chunk}`;
  /** Ends the attempt of this process, or, if it has none, the attempt with which the chunk is being uploaded. */
  const ending = async <T>(
    method: keyof UploadChanges,
    run: string,
    chunk: number,
    end: (query: Query, attempt: { run: string; chunk: number; attempt: number }) => Promise<readonly T[]>,
  ): Promise<T> => {
    const missing = `no chunk ${chunk} of run ${run} that is uploading`;
    const key = keyOf(run, chunk);
    const known = sent.get(key);
    const ended =
      known === undefined
        ? await db.outcome(async (query) => {
            const [row] = await query(uploading, { run, chunk });
            const { attempt } = expectRow(row, method, missing);
            return end(query, { run, chunk, attempt });
          })
        : await end(db.outcomeOf, { run, chunk, attempt: known });
    const row = expectRow(ended[0], method, missing);
    sent.delete(key);
    return row;
  };

  return {
    recordIntent: async (run, chunk, { before, after }, at, budget) => {
      const { day } = budget;
      const missing = `no chunk ${chunk} of run ${run} that is cut or ambiguous`;
      const values = { run, chunk, before, after, at, day };
      const begun = () => {
        if (!hasCaps(budget)) return db.change(begin, values, 'recordIntent', missing);
        return db.changes(async (query) => {
          const [chunkToSend] = await query(sendable, { run, chunk });
          if (chunkToSend !== undefined) await refuseOverBudget(query, { run }, chunkToSend.records, budget);
          const [row] = await query(begin.free, values);
          return expectRow(row, 'recordIntent', missing);
        });
      };
      const { attempt, records } = await intend(db, begun, async (query) => {
        const [found] = await query(intended, { run, chunk, at });
        if (found !== undefined) await query(drop, { run, chunk, attempt: found.attempt, at });
      });
      sent.set(keyOf(run, chunk), attempt);
      const fileName = `${before}${attempt}${after}`;
      return { ...NOT_KNOWN_YET, run, chunk, attempt, fileName, records, startedAt: at, state: 'intent' };
    },
    recordAccepted: async (run, chunk, { folio, serviceRecords, rehearsal }, at) => {
      const local = rehearsal ? 1 : 0;
      const row = await ending('recordAccepted', run, chunk, async (query, attempt) => {
        const rows = await query(accept, { ...attempt, folio, local, serviceRecords, at });
        // The same folio was recorded before the connection was lost.
        return rows.length > 0 ? rows : query(knownFolio, { ...attempt, folio });
      });
      if (row.state !== null) return toChunk(row);
      await db.expectHeld();
      const [stored] = await db.read(chunkByNumber, { run, chunk });
      return toChunk(expectRow(stored, 'recordAccepted', `no chunk ${chunk} of run ${run}`));
    },
    recordDropped: async (run, chunk, at) => {
      await ending('recordDropped', run, chunk, async (query, attempt) => {
        const rows = await query(drop, { ...attempt, at });
        // It was recorded, and refunded, before the connection was lost.
        return rows.length > 0 ? rows : query(knownDropped, attempt);
      });
    },
    recordAmbiguous: async (run, chunk, at, doubt) => {
      await ending('recordAmbiguous', run, chunk, (query, attempt) =>
        query(markAmbiguous, { ...attempt, at, doubt }),
      );
    },
    recordInterrupted: async (run) => {
      for (const key of sent.keys()) if (key.startsWith(`${run} `)) sent.delete(key);
      const { chunks } = await db.change(interrupt, { run }, 'recordInterrupted', 'no lease');
      return chunks;
    },
  };
}

// A page has all attempts of its chunks; the next page begins with the next chunk.
const pageOf = (condition: string): Prepared<StoredUpload> =>
  statement(`
  SELECT ${UPLOAD_COLUMNS} FROM uploads
  WHERE run = @run AND chunk IN (SELECT DISTINCT chunk FROM uploads
    WHERE run = @run AND chunk > @after AND ${condition} ORDER BY chunk LIMIT @limit)
  ORDER BY chunk, attempt`);
const page = pageOf('true');
const unusual = pageOf(IS_UNUSUAL);
// There is no index on the folio, because it would slow down every upload, and only an adoption reads by folio.
const ofFolio: Prepared<StoredUpload> = statement(`
  SELECT ${UPLOAD_COLUMNS} FROM uploads
  WHERE folio = @folio AND run IN (SELECT id FROM runs WHERE service = @service)
  ORDER BY run COLLATE "C", chunk, attempt LIMIT 1`);

/** Makes `uploads`, `unusualUploads` and `uploadOf`. */
export function uploadReads(
  db: StateSession,
): Pick<CheckpointReader, 'uploads' | 'unusualUploads' | 'uploadOf'> {
  return {
    uploadOf: async (service, folio) => toUploadIfAny((await db.read(ofFolio, { service, folio }))[0]),
    uploads: async (run, after, limit) => (await db.read(page, { run, after, limit })).map(toUpload),
    unusualUploads: async (run, after, limit) =>
      (await db.read(unusual, { run, after, limit })).map(toUpload),
  };
}
