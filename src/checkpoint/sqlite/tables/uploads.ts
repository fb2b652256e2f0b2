/**
 * Upload attempts. An attempt's row and its chunk's state change in one transaction (rule "Intent first",
 * docs/architecture.md#intent-first).
 */
import type { Doubt } from '../../../types.js';
import type { CheckpointReader, Upload, UploadChanges } from '../../checkpoint.js';
import { expectRow } from '../../rows/change.js';
import { IS_UNUSUAL, type StoredUpload, toUploadIfAny, UPLOAD_COLUMNS } from '../../rows/paid-rows.js';
import { expectOneRow, type StateDatabase } from '../state-database.js';
import { chunkChange } from './chunks.js';
import { budgetChanges } from './spending.js';

/** Makes the five changes between `cut` and `submitted`. */
export function uploadChanges(db: StateDatabase): UploadChanges {
  const budgets = budgetChanges(db);
  const beginAttempt = db.prepare<[object], Pick<Upload, 'attempt' | 'records'>>(`
    UPDATE chunks SET state = 'uploading', attempt = attempt + 1
    WHERE run = @run AND number = @chunk AND state IN ('cut', 'ambiguous') RETURNING attempt, records`);
  const insertUpload = db.prepare(`
    INSERT INTO uploads (run, chunk, attempt, file_name, records, started_at, day)
    VALUES (@run, @chunk, @attempt, @fileName, @records, @startedAt, @day)`);
  const endAttempt = db.prepare<[object], { records: number; day: string }>(`
    UPDATE uploads SET state = @state, doubt = @doubt, folio = @folio, local = @local,
      service_records = @serviceRecords, ended_at = @at
    WHERE run = @run AND chunk = @chunk AND state = 'intent' RETURNING records, day`);
  const submit = chunkChange(
    db,
    `UPDATE chunks SET state = 'submitted', folio = @folio, submitted_at = @at
    WHERE run = @run AND number = @chunk AND state = 'uploading'`,
  );
  const markRehearsal = db.prepare('UPDATE runs SET rehearsal = 1 WHERE id = @run AND rehearsal = 0');
  const drop = db.prepare(`
    UPDATE chunks SET state = CASE
      WHEN EXISTS (SELECT 1 FROM uploads WHERE run = @run AND chunk = @chunk AND state = 'ambiguous')
      THEN 'ambiguous' ELSE 'cut' END
    WHERE run = @run AND number = @chunk AND state = 'uploading'`);
  const markAmbiguous = db.prepare(`
    UPDATE chunks SET state = 'ambiguous' WHERE run = @run AND number = @chunk AND state = 'uploading'`);
  const markChunksAmbiguous = db.prepare(`
    UPDATE chunks INDEXED BY chunks_by_state SET state = 'ambiguous'
    WHERE run = @run AND state = 'uploading'`);
  const markUploadsAmbiguous = db.prepare(`
    UPDATE uploads INDEXED BY uploads_by_state SET state = 'ambiguous', doubt = 'no-reply'
    WHERE run = @run AND state = 'intent'`);
  const markSearchesAmbiguous = db.prepare(`
    UPDATE searches INDEXED BY searches_by_state SET state = 'ambiguous'
    WHERE run = @run AND state = 'intent'`);

  const notUploading = (run: string, chunk: number) => `no chunk ${chunk} of run ${run} that is uploading`;
  const nothingAccepted = { folio: null, local: null, serviceRecords: null };
  const endOne = (method: string, end: { run: string; chunk: number; [column: string]: unknown }) =>
    expectRow(endAttempt.get(end), method, notUploading(end.run, end.chunk));

  return {
    recordIntent: db.change((run, chunk, { before, after }, at, budget) => {
      const missing = `no chunk ${chunk} of run ${run} that is cut or ambiguous`;
      const begun = beginAttempt.get({ run, chunk });
      const { attempt, records } = expectRow(begun, 'recordIntent', missing);
      const fileName = `${before}${attempt}${after}`;
      const upload = { run, chunk, attempt, fileName, records, startedAt: at };
      insertUpload.run({ ...upload, day: budget.day });
      budgets.reserve({ run }, records, budget);
      return { ...upload, ...nothingAccepted, state: 'intent', doubt: null, endedAt: null };
    }),
    recordAccepted: db.outcomeChange((run, chunk, reply, at) => {
      const { folio, serviceRecords, rehearsal } = reply;
      const missing = notUploading(run, chunk);
      const submitted = expectRow(submit({ run, chunk, folio, at }), 'recordAccepted', missing);
      const local = rehearsal ? 1 : 0;
      const end = { run, chunk, state: 'accepted', doubt: null, folio, local, serviceRecords, at };
      endOne('recordAccepted', end);
      if (rehearsal) markRehearsal.run({ run });
      return submitted;
    }),
    recordDropped: db.outcomeChange((run, chunk, at) => {
      const missing = notUploading(run, chunk);
      expectOneRow(drop.run({ run, chunk }), 'recordDropped', missing);
      const end = { run, chunk, state: 'dropped', doubt: null, ...nothingAccepted, at };
      const { records, day } = endOne('recordDropped', end);
      budgets.spend({ run }, -records, day);
    }),
    recordAmbiguous: db.outcomeChange((run, chunk, at, why) => {
      const missing = notUploading(run, chunk);
      expectOneRow(markAmbiguous.run({ run, chunk }), 'recordAmbiguous', missing);
      endOne('recordAmbiguous', { run, chunk, state: 'ambiguous', doubt: why, ...nothingAccepted, at });
    }),
    recordInterrupted: db.change((run) => {
      markUploadsAmbiguous.run({ run });
      markSearchesAmbiguous.run({ run });
      return markChunksAmbiguous.run({ run }).changes;
    }),
  };
}

/** An upload as an array, without its run. */
type PackedUpload = readonly [
  ...[chunk: number, attempt: number, fileName: string, records: number],
  ...[state: Upload['state'], doubt: Doubt | null, folio: string | null, local: 0 | 1 | null],
  ...[serviceRecords: number | null, startedAt: number, endedAt: number | null],
];

function unpackUpload(run: string, row: PackedUpload): Upload {
  const local = row[7];
  return {
    run,
    chunk: row[0],
    attempt: row[1],
    fileName: row[2],
    records: row[3],
    state: row[4],
    doubt: row[5],
    folio: row[6],
    local: local === null ? null : local === 1,
    serviceRecords: row[8],
    startedAt: row[9],
    endedAt: row[10],
  };
}

/** Makes `uploads`, `unusualUploads` and `uploadOf`. */
export function uploadReads(
  db: StateDatabase,
): Pick<CheckpointReader, 'uploads' | 'unusualUploads' | 'uploadOf'> {
  // A page has all attempts of its chunks; the next page begins with the next chunk. The ledger reads a million rows:
  // as arrays they take half of the time.
  const pageOf = (chunks: string) =>
    db
      .prepare<[{ run: string; after: number; limit: number }], PackedUpload>(`
    SELECT chunk, attempt, file_name, records, state, doubt, folio, local, service_records, started_at, ended_at
    FROM uploads WHERE run = @run AND ${chunks} ORDER BY chunk, attempt`)
      .raw();
  const page = pageOf(`chunk > @after AND chunk <= (SELECT max(chunk) FROM
      (SELECT DISTINCT chunk FROM uploads WHERE run = @run AND chunk > @after ORDER BY chunk LIMIT @limit))`);
  const unusual = pageOf(`chunk IN (SELECT DISTINCT chunk FROM uploads
    WHERE run = @run AND chunk > @after AND ${IS_UNUSUAL} ORDER BY chunk LIMIT @limit)`);
  // There is no index on the folio, because it would slow down every upload, and only an adoption reads by folio.
  const ofFolio = db.prepare<[{ service: string; folio: string }], StoredUpload>(`
    SELECT ${UPLOAD_COLUMNS} FROM uploads
    WHERE folio = @folio AND run IN (SELECT id FROM runs WHERE service = @service)
    ORDER BY run, chunk, attempt LIMIT 1`);

  return {
    uploadOf: db.read((service, folio) => toUploadIfAny(ofFolio.get({ service, folio }))),
    uploads: db.read((run, after, limit) =>
      page.all({ run, after, limit }).map((row) => unpackUpload(run, row)),
    ),
    unusualUploads: db.read((run, after, limit) =>
      unusual.all({ run, after, limit }).map((row) => unpackUpload(run, row)),
    ),
  };
}
