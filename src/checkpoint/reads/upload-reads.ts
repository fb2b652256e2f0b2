/** Upload attempts: what the ledger is made of. */
import type { Doubt } from '../../types.js';
import type { CheckpointReader, Upload } from '../checkpoint.js';
import type { StateDatabase } from '../state-database.js';

/** A row selected by `uploadColumns`. */
interface UploadRow extends Omit<Upload, 'local'> {
  readonly local: 0 | 1 | null;
}

const uploadColumns = `run, chunk, attempt, file_name AS fileName, records, state, doubt, folio, local,
  service_records AS serviceRecords, started_at AS startedAt, ended_at AS endedAt`;

type UploadRead = 'uploads' | 'misreadUpload' | 'uploadOf' | 'doubtsInRow' | 'replyKinds';

/** Makes the reads of attempts. */
export function uploadReads(db: StateDatabase): Pick<CheckpointReader, UploadRead> {
  // Pages end between chunks: a page that divided a chunk's attempts could not be gone on from.
  const page = db.prepare<[{ run: string; after: number; limit: number }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE run = @run AND chunk IN
      (SELECT DISTINCT chunk FROM uploads WHERE run = @run AND chunk > @after ORDER BY chunk LIMIT @limit)
    ORDER BY chunk, attempt`);
  const misread = db.prepare<[{ run: string }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE run = @run AND state = 'accepted' AND service_records <> records ORDER BY chunk LIMIT 1`);
  // No index on the folio: only a person who adopts one asks, and every upload would pay for it.
  const ofFolio = db.prepare<[{ service: string; folio: string }], UploadRow>(`
    SELECT ${uploadColumns} FROM uploads
    WHERE folio = @folio AND run IN (SELECT id FROM runs WHERE service = @service)
    ORDER BY run, chunk, attempt LIMIT 1`);
  // Of two that ended in the same millisecond the order is not known: the doubtful one counts. A folio that a person
  // has found says that replies are read again, but not that the address is right: that is known where it was sent to.
  const doubts = db
    .prepare<[{ run: string; doubt: Doubt }], number>(`
    SELECT count(*) FROM uploads
    WHERE run = @run AND state = 'ambiguous' AND doubt = @doubt AND ended_at >=
      (SELECT coalesce(max(iif(@doubt = 'redirected', started_at, ended_at)), 0) FROM uploads
        WHERE run = @run AND state = 'accepted')`)
    .pluck();
  const accepted = (local: number) =>
    `EXISTS (SELECT 1 FROM uploads WHERE run = @run AND state = 'accepted' AND local = ${local})`;
  const kinds = db.prepare<[{ run: string }], { local: number; other: number; mixed: number | null }>(`
    SELECT ${accepted(1)} AS local, ${accepted(0)} AS other,
      (SELECT mixed FROM runs WHERE id = @run) AS mixed`);

  return {
    uploadOf: db.read((service: string, folio: string) => toUploadIfAny(ofFolio.get({ service, folio }))),
    misreadUpload: db.read((run: string) => toUploadIfAny(misread.get({ run }))),
    doubtsInRow: db.read((run: string, doubt: Doubt) => doubts.get({ run, doubt })!),
    replyKinds: db.read((run: string) => {
      const row = kinds.get({ run })!;
      const [local, other] = [row.local === 1, row.other === 1];
      return { local, other, mixed: row.mixed === 1 || (local && other) };
    }),
    uploads: db.read((run: string, after: number, limit: number) =>
      page.all({ run, after, limit }).map(toUpload),
    ),
  };
}

function toUploadIfAny(row: UploadRow | undefined): Upload | undefined {
  return row && toUpload(row);
}

function toUpload(row: UploadRow): Upload {
  return { ...row, local: row.local === null ? null : row.local === 1 };
}
